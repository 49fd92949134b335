package hosts_test

import (
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/hosts"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// A panic at one object names that object, and costs no finding of others.
func TestPanicAtOneObjectCostsThatObject(t *testing.T) {
	ingress := func(namespace, name, host string) snapshot.Ingress {
		return snapshot.Ingress{
			Meta:  snapshot.Meta{Group: "networking.k8s.io", Kind: "Ingress", Namespace: namespace, Name: name},
			Hosts: []snapshot.HostClaim{{Host: host, Source: snapshot.FromRule}},
		}
	}
	rule := hosts.Rule()
	var b snapshot.Builder
	b.Add(snapshot.Facts{Ingresses: []snapshot.Ingress{
		ingress("a", "web", "shop.example.com"), ingress("b", "web", "shop.example.com"), ingress("c", "pill", "c.example.com"),
	}})
	for _, kind := range append(rule.Needs, rule.Uses...) {
		b.Add(snapshot.Facts{}, snapshot.Read{Kind: kind, Status: snapshot.Listed})
	}
	once := true
	res, err := rule.Run(rules.Input{
		View: b.Freeze().View(append(rule.Needs, rule.Uses...)...),
		Owner: func(m *snapshot.Meta) rules.Owner {
			if m.Name == "pill" && once {
				once = false
				panic("nobody thought of this")
			}
			return rules.Owner{Name: m.Namespace, Namespace: m.Namespace}
		},
	})
	if err != nil || len(res.Violations) != 1 || res.Violations[0].Subject.Name != "shop.example.com" {
		t.Errorf("violations %+v and error %v", res.Violations, err)
	}
	if len(res.Unread) != 1 || res.Unread[0].Name != "pill" || !strings.Contains(res.Unread[0].Reason, "nobody thought of this") {
		t.Errorf("unread %+v", res.Unread)
	}
}

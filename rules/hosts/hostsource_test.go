package hosts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/hosts"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// evaluateHosts runs the rule on facts in which each namespace is its own owner, and
// returns findings as "host <- object, object" and advisories as "subject:
// message", both sorted.
func evaluateHosts(t *testing.T, f snapshot.Facts) (findings, advisories []string) {
	t.Helper()
	rule := hosts.Rule()
	var b snapshot.Builder
	b.Add(f)
	res, err := rule.Run(rules.Input{
		View: b.Freeze().View(slices.Concat(rule.Needs, rule.Uses)...),
		Owner: func(m *snapshot.Meta) rules.Owner {
			return rules.Owner{Name: m.Namespace, Namespace: m.Namespace}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range res.Violations {
		var objects []string
		for _, o := range v.Objects {
			objects = append(objects, fmt.Sprintf("%s (%s)", o.Ref, o.Reason))
		}
		slices.Sort(objects)
		findings = append(findings, v.Subject.Name+" <- "+strings.Join(objects, ", "))
	}
	for _, a := range res.Advisories {
		advisories = append(advisories, a.Subject.String()+": "+a.Message)
	}
	slices.Sort(findings)
	slices.Sort(advisories)
	return findings, advisories
}

// hostObject is an object of a host source; a wildcard followed by
// a "+" covers many labels.
func hostObject(kind, namespace, name string, hosts ...string) snapshot.HostObject {
	o := snapshot.HostObject{Meta: snapshot.Meta{Group: "example.com", Kind: kind, Namespace: namespace, Name: name}}
	for _, h := range hosts {
		host, deep := strings.CutSuffix(h, "+")
		o.Hosts = append(o.Hosts, snapshot.HostPattern{Host: host, Deep: deep})
	}
	return o
}

func TestHostObjectsClaimHosts(t *testing.T) {
	leavingOne := hostObject("Route", "team-b", "leaving", "shop.example.com")
	leavingOne.Deletion = &snapshot.Deletion{}
	unread := hostObject("Route", "team-b", "unread")
	unread.Err = "no such key: spec"
	odd := hostObject("Route", "team-b", "odd", "shop.example.com")
	odd.Invalid = []string{"HostRegexp(`.+`)", "shop.example.com:80"}
	deletedUnread := unread
	deletedUnread.Deletion = &snapshot.Deletion{}
	ingress := snapshot.Ingress{
		Meta:  snapshot.Meta{Group: "networking.k8s.io", Kind: "Ingress", Namespace: "team-a", Name: "shop"},
		Hosts: []snapshot.HostClaim{{Host: "shop.example.com", Source: snapshot.FromRule}},
	}
	going := []snapshot.Namespace{{Meta: snapshot.Meta{Kind: "Namespace", Name: "team-b", Deletion: &snapshot.Deletion{}}}}
	shop := hostObject("Route", "team-a", "shop", "shop.example.com")
	for _, c := range []struct {
		says                 string
		facts                snapshot.Facts
		findings, advisories []string
	}{
		{
			"two kinds claim a host",
			snapshot.Facts{HostObjects: []snapshot.HostObject{shop, hostObject("Gate", "team-b", "shop", "shop.example.com")}},
			[]string{"shop.example.com <- Gate team-b/shop (host-source), Route team-a/shop (host-source)"},
			nil,
		},
		{"an Ingress and an object claim a host", snapshot.Facts{
			Ingresses: []snapshot.Ingress{ingress}, HostObjects: []snapshot.HostObject{hostObject("Route", "team-b", "x", "shop.example.com")},
		}, []string{"shop.example.com <- Ingress team-a/shop (rule), Route team-b/x (host-source)"}, nil},
		{"hosts are spelled in several ways", snapshot.Facts{HostObjects: []snapshot.HostObject{
			hostObject("Route", "team-a", "a", "Bücher.Example."), hostObject("Route", "team-b", "b", "xn--bcher-kva.example"),
		}}, []string{"xn--bcher-kva.example <- Route team-a/a (host-source), Route team-b/b (host-source)"}, nil},
		{"one object claims a host twice", snapshot.Facts{HostObjects: []snapshot.HostObject{
			hostObject("Route", "team-a", "a", "*.example.com", "*.example.com+"), hostObject("Route", "team-b", "b", "*.example.com"),
		}}, []string{"*.example.com <- Route team-a/a (host-source), Route team-b/b (host-source)"}, nil},
		{"every host is asked for", snapshot.Facts{HostObjects: []snapshot.HostObject{
			hostObject("Route", "team-a", "a", "*"), hostObject("Route", "team-b", "b", "*", "*."),
		}}, nil, nil},
		{"one owner claims a host twice", snapshot.Facts{HostObjects: []snapshot.HostObject{shop, hostObject("Gate", "team-a", "shop", "shop.example.com")}}, nil, nil},
		{
			"an object is being deleted",
			snapshot.Facts{HostObjects: []snapshot.HostObject{shop, leavingOne, deletedUnread}},
			[]string{"shop.example.com <- Route team-a/shop (host-source), Route team-b/leaving (host-source)"},
			[]string{"team-b/unread: its hosts could not be read: no such key: spec"},
		},
		{
			"a namespace is being deleted",
			snapshot.Facts{
				Namespaces: going, HostObjects: []snapshot.HostObject{shop, hostObject("Route", "team-b", "b", "shop.example.com"), unread},
			},
			[]string{"shop.example.com <- Route team-a/shop (host-source), Route team-b/b (host-source)"},
			[]string{"team-b/unread: its hosts could not be read: no such key: spec"},
		},
		{"a wildcard covers one label", snapshot.Facts{HostObjects: []snapshot.HostObject{
			hostObject("Route", "team-a", "a", "*.example.com"), hostObject("Route", "team-b", "b", "a.example.com", "b.a.example.com"),
		}}, nil, []string{"a.example.com: *.example.com covers a.example.com"}},
		{"a wildcard covers many labels", snapshot.Facts{HostObjects: []snapshot.HostObject{
			hostObject("Route", "team-a", "a", "*.example.com+"), hostObject("Route", "team-b", "b", "b.a.example.com", "example.com"),
		}}, nil, []string{"b.a.example.com: *.example.com covers b.a.example.com"}},
		{
			"an object cannot be read",
			snapshot.Facts{HostObjects: []snapshot.HostObject{shop, unread}},
			nil,
			[]string{"team-b/unread: its hosts could not be read: no such key: spec"},
		},
		{
			"an object has more than hosts",
			snapshot.Facts{HostObjects: []snapshot.HostObject{shop, odd}},
			[]string{"shop.example.com <- Route team-a/shop (host-source), Route team-b/odd (host-source)"},
			[]string{"team-b/odd: hosts that it may claim were not evaluated because they cannot be compared: HostRegexp(`.+`), shop.example.com:80"},
		},
	} {
		findings, advisories := evaluateHosts(t, c.facts)
		if diff := cmp.Diff(c.findings, findings); diff != "" {
			t.Errorf("where %s: findings (-want +got):\n%s", c.says, diff)
		}
		if diff := cmp.Diff(c.advisories, advisories); diff != "" {
			t.Errorf("where %s: advisories (-want +got):\n%s", c.says, diff)
		}
	}
}

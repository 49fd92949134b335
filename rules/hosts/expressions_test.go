package hosts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// aliased is an Ingress with a host and expressions; "~" stands for one that has to be
// found in a host.
func aliased(namespace, name string, source snapshot.HostSource, host string, expressions ...string) snapshot.Ingress {
	i := snapshot.Ingress{
		Meta:  snapshot.Meta{Group: "networking.k8s.io", Kind: "Ingress", Namespace: namespace, Name: name},
		Hosts: []snapshot.HostClaim{{Host: host, Source: snapshot.FromRule}},
	}
	for _, text := range expressions {
		i.Expressions = append(i.Expressions, snapshot.NewHostExpression(text, text, source))
	}
	return i
}

// unreadOf returns the objects of a result that were not read, as "object: reason".
func unreadOf(res rules.Result) (out []string) {
	for _, f := range res.Unread {
		out = append(out, fmt.Sprintf("%s (%s): %s", f.Ref, f.Resource, f.Reason))
	}
	slices.Sort(out)
	return out
}

// What cannot be read or would cost too much counts as unread, so that nothing that it may
// be about is resolved.
func TestUnreadExpressions(t *testing.T) {
	route := hostObject("IngressRoute", "team-b", "rule")
	route.Unread = []string{"rule of 68 KiB"}
	broken := aliased("team-b", "broken", snapshot.FromALB, "a.example.com")
	broken.Unreadable = []snapshot.UnreadableHosts{
		{Source: snapshot.FromALB, Reason: "conditions: not JSON", MayClaim: true}, {Source: snapshot.FromALB, Reason: "conditions: not a host: x y"},
	}
	res := runHosts(t, snapshot.Facts{
		HostObjects: []snapshot.HostObject{route},
		Ingresses: []snapshot.Ingress{
			aliased("team-b", "look-ahead", snapshot.FromServerAlias, "a.example.com", `^(?!www)shop\.example\.com$`, `^ok$`),
			aliased("team-b", "steps", snapshot.FromServerAlias, "a.example.com", strings.Repeat(`[a-z]{900}`, 3)),
			broken,
		},
	})
	want := []string{
		"Ingress team-b/broken (ingresses.networking.k8s.io): conditions: not JSON",
		"Ingress team-b/look-ahead (ingresses.networking.k8s.io): the regular expression ^(?!www)shop\\.example\\.com$ was not evaluated: RE2 cannot read it: invalid or unsupported Perl syntax",
		"Ingress team-b/steps (ingresses.networking.k8s.io): the regular expression [a-z]{900}[a-z]{900}[a-z]{900} was not evaluated: it has more than 2000 steps",
		"IngressRoute team-b/rule (ingressroutes.example.com): hosts that it may claim can't be read: rule of 68 KiB",
	}
	if diff := cmp.Diff(want, unreadOf(res)); diff != "" {
		t.Errorf("unread (-want +got):\n%s", diff)
	}
}

// The comparison of one namespace's expressions is bounded, and takes nothing from what
// is said about others.
func TestExpressionsBeyondTheBudget(t *testing.T) {
	f := ingressFacts(5000, func(i int) string { return fmt.Sprintf("h%d.example.com", i) })
	f.Ingresses = append(f.Ingresses, aliased("a", "victim", snapshot.FromALB, "shop.example.com"))
	for i := range 40 {
		f.Ingresses = append(f.Ingresses, aliased("b", fmt.Sprintf("bomb%02d", i), snapshot.FromServerAlias, "b.example.com", fmt.Sprintf("(x%d[a-z]{9}){30}", i)))
	}
	f.Ingresses = append(f.Ingresses, aliased("c", "thief", snapshot.FromALB, "c.example.com", `^sh[a-z]+\.example\.com$`))
	res := runHosts(t, f)
	if len(res.Violations) != 1 || res.Violations[0].Subject.Name != "shop.example.com" {
		t.Errorf("findings %v", res.Violations)
	}
	unread := unreadOf(res)
	if len(unread) == 0 || len(unread) == 40 || slices.ContainsFunc(unread, func(s string) bool { return !strings.HasPrefix(s, "Ingress b/bomb") }) {
		t.Errorf("%d unread: %.500s", len(unread), strings.Join(unread, "\n"))
	}
}

// One owner may match and spell its own hosts as it likes.
func TestExpressionsOfOneOwner(t *testing.T) {
	findings, advisories := evaluateHosts(t, snapshot.Facts{Ingresses: []snapshot.Ingress{
		aliased("team-a", "a", snapshot.FromALB, "shop.example.com", `^.+\.example\.com$`, `^shop\.example\.com$`),
		aliased("team-a", "b", snapshot.FromServerAlias, "*.example.com", `^.+\.example\.com$`, `.+`),
	}})
	if len(findings)+len(advisories) > 0 {
		t.Errorf("findings %v, advisories %v", findings, advisories)
	}
}

func TestExpressionsAreQuoted(t *testing.T) {
	res := runHosts(t, snapshot.Facts{Ingresses: []snapshot.Ingress{
		aliased("team-a", "shop", snapshot.FromALB, "shop.example.com"),
		aliased("team-b", "outlet", snapshot.FromALB, "b.example.com", "^sh\u202eop|^sh"+strings.Repeat("x?", 300)),
	}})
	if len(res.Violations) != 1 {
		t.Fatalf("findings %v", res.Violations)
	}
	detail := res.Violations[0].Objects[1].Detail
	if !strings.HasPrefix(detail, "ALB host-header condition, regular expression ^sh op|^shx?x?") || len([]rune(detail)) > 200 {
		t.Errorf("detail %q", detail)
	}
}

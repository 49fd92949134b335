package ingest_test

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const challenge = "/.well-known/acme-challenge/"

func TestACMESolverLabel(t *testing.T) {
	for _, c := range []struct {
		name   string
		labels map[string]string
		want   bool
	}{
		{"cert-manager's label marks a solver", map[string]string{"acme.cert-manager.io/http01-solver": "true"}, true},
		{"the label with another value marks nothing", map[string]string{"acme.cert-manager.io/http01-solver": "false"}, false},
		{"the label without a value marks nothing", map[string]string{"acme.cert-manager.io/http01-solver": ""}, false},
		{"another label marks nothing", map[string]string{"example.com/http01-solver": "true"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Labels: c.labels}}
			if got := newIngester().Ingress(o).SolverLabel; got != c.want {
				t.Errorf("solver label: %t", got)
			}
		})
	}
}

func TestACMEChallengeOwner(t *testing.T) {
	for _, c := range []struct {
		name string
		refs []metav1.OwnerReference
		want bool
	}{
		{"a Challenge of cert-manager owns it", []metav1.OwnerReference{{APIVersion: "acme.cert-manager.io/v1", Kind: "Challenge"}}, true},
		{"a Challenge of any version of cert-manager owns it", []metav1.OwnerReference{{APIVersion: "acme.cert-manager.io/v1alpha2", Kind: "Challenge"}}, true},
		{"a Challenge among other owners owns it", []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node"}, {APIVersion: "acme.cert-manager.io/v1", Kind: "Challenge"}}, true},
		{"another kind of cert-manager does not count", []metav1.OwnerReference{{APIVersion: "acme.cert-manager.io/v1", Kind: "Order"}}, false},
		{"a Challenge of another group does not count", []metav1.OwnerReference{{APIVersion: "games.example.com/v1", Kind: "Challenge"}}, false},
		{"a Challenge without a group does not count", []metav1.OwnerReference{{APIVersion: "acme.cert-manager.io", Kind: "Challenge"}}, false},
		{"an object without owners is not owned", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{OwnerReferences: c.refs}}
			if got := newIngester().Ingress(o).ChallengeOwner; got != c.want {
				t.Errorf("challenge owner: %t", got)
			}
		})
	}
}

// ruleFor is a rule with some paths; without any it has no http section.
func ruleFor(paths ...string) networkingv1.IngressRule {
	rule := networkingv1.IngressRule{Host: "shop.example.com"}
	for _, path := range paths {
		if rule.HTTP == nil {
			rule.HTTP = &networkingv1.HTTPIngressRuleValue{}
		}
		rule.HTTP.Paths = append(rule.HTTP.Paths, networkingv1.HTTPIngressPath{Path: path, Backend: *backend()})
	}
	return rule
}

func TestACMEChallengePaths(t *testing.T) {
	spec := func(rules ...networkingv1.IngressRule) networkingv1.IngressSpec {
		return networkingv1.IngressSpec{Rules: rules}
	}
	withDefault := spec(ruleFor(challenge + "tok"))
	withDefault.DefaultBackend = backend()
	noPaths := spec(networkingv1.IngressRule{IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{}}})
	for _, c := range []struct {
		name string
		spec networkingv1.IngressSpec
		want bool
	}{
		{"one token below the folder is a challenge", spec(ruleFor(challenge + "LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0")), true},
		{"a token has every letter of base64url", spec(ruleFor(challenge + "azAZ09-_")), true},
		{"several challenges are challenges", spec(ruleFor(challenge+"a", challenge+"b"), ruleFor(challenge+"c")), true},
		{"the folder itself would take everybody's challenges", spec(ruleFor(challenge)), false},
		{"the folder without its slash is no challenge", spec(ruleFor("/.well-known/acme-challenge")), false},
		{"something below a token is no challenge", spec(ruleFor(challenge + "a/b")), false},
		{"a way out of the folder is no challenge", spec(ruleFor(challenge + "../../admin")), false},
		{"a pattern is no token", spec(ruleFor(challenge + ".*")), false},
		{"an escaped letter is no token", spec(ruleFor(challenge + "a%2Fb")), false},
		{"letters outside ASCII are no token", spec(ruleFor(challenge + "tökén")), false},
		{"a folder of that name elsewhere is no challenge", spec(ruleFor("/x" + challenge + "a")), false},
		{"one other path among challenges spoils it", spec(ruleFor(challenge+"a", "/")), false},
		{"one other rule among challenges spoils it", spec(ruleFor(challenge+"a"), ruleFor("/shop")), false},
		{"an empty path spoils it", spec(ruleFor("")), false},
		{"a rule without http takes every path", spec(ruleFor(challenge+"a"), ruleFor()), false},
		{"a rule without paths takes every path", noPaths, false},
		{"a default backend takes every path", withDefault, false},
		{"without rules there is no challenge", spec(), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &networkingv1.Ingress{ObjectMeta: named(), Spec: c.spec}
			if got := newIngester().Ingress(o).ChallengePaths; got != c.want {
				t.Errorf("only challenge paths: %t", got)
			}
		})
	}
}

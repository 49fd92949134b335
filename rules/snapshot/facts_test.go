package snapshot_test

import (
	"testing"
	"time"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestRef(t *testing.T) {
	m := snapshot.Meta{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web", Created: time.Unix(1, 0)}
	again := m
	again.Created = time.Unix(2, 0)
	if m.Ref() != again.Ref() {
		t.Error("a redeployed object is another one")
	}
	if got := m.Ref().String(); got != "Deployment shop/web" {
		t.Errorf("Ref is printed as %q", got)
	}
	if got := (snapshot.Ref{Kind: "Namespace", Name: "shop"}).String(); got != "Namespace shop" {
		t.Errorf("Ref without a namespace is printed as %q", got)
	}
}

func TestRefsAreOrdered(t *testing.T) {
	sorted := []snapshot.Ref{
		{Name: "z"},
		{Namespace: "a", Name: "a", Kind: "Job", Group: "batch"},
		{Namespace: "a", Name: "a", Kind: "Pod"},
		{Namespace: "a", Name: "a", Kind: "Pod", Group: "x"},
		{Namespace: "a", Name: "b", Kind: "Job"},
		{Namespace: "b", Name: "a", Kind: "Job"},
	}
	for i := range sorted {
		for j := range sorted {
			if got := sorted[i].Compare(sorted[j]); got < 0 != (i < j) || got == 0 != (i == j) {
				t.Errorf("comparing %v with %v gives %d", sorted[i], sorted[j], got)
			}
		}
	}
}

func TestKind(t *testing.T) {
	for kind, want := range map[snapshot.Kind][2]string{
		snapshot.Pods:            {"pods", ""},
		snapshot.Deployments:     {"deployments", "apps"},
		snapshot.NetworkPolicies: {"networkpolicies", "networking.k8s.io"},
	} {
		if got := [2]string{kind.Resource(), kind.Group()}; got != want {
			t.Errorf("%s is %q", kind, got)
		}
	}
}

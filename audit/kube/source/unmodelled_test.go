package source_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

const antreaPolicies snapshot.Kind = "networkpolicies.crd.antrea.io"

const (
	antreaPath   = "/apis/crd.antrea.io/v1beta1/networkpolicies"
	antreaServed = "crd.antrea.io/v1beta1 networkpolicies NetworkPolicy"
)

// engines are kinds of policies, so that others are looked for as well.
var engines = []snapshot.Kind{snapshot.CiliumNetworkPolicies}

func unmodelled(s *snapshot.Snapshot) []snapshot.Unsupported {
	var out []snapshot.Unsupported
	for u := range s.View(snapshot.PolicyKinds()...).Unsupported() {
		out = append(out, *u)
	}
	return out
}

func TestPoliciesThatNothingUnderstandsAreFound(t *testing.T) {
	cilium := snapshot.Read{Kind: snapshot.CiliumNetworkPolicies, Version: "v2", Status: snapshot.Absent}
	for name, tt := range map[string]struct {
		kinds  []snapshot.Kind
		serves string
		items  string
		want   []snapshot.Unsupported
		more   []snapshot.Read
	}{
		"where they are": {
			engines, antreaServed,
			`{"metadata":{"name":"a","namespace":"shop"}},{"metadata":{"name":"b","namespace":"shop"}},
				{"metadata":{"name":"a","namespace":"bank"}}`,
			[]snapshot.Unsupported{{Kind: antreaPolicies, Namespace: "bank"}, {Kind: antreaPolicies, Namespace: "shop"}},
			nil,
		},
		"nowhere, if there are none": {engines, antreaServed, "", nil, nil},
		"anywhere, if they are in no namespace": {
			engines, antreaServed + " cluster", `{"metadata":{"name":"a"}}`, []snapshot.Unsupported{{Kind: antreaPolicies}}, nil,
		},
		"anywhere, if they cannot be listed": {
			engines, antreaServed, "403",
			[]snapshot.Unsupported{{Kind: antreaPolicies}},
			[]snapshot.Read{{Kind: antreaPolicies, Version: "v1beta1", Status: snapshot.Forbidden, Err: "no"}},
		},
		"not at all, if nobody asks for policies": {routes, antreaServed, "403", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := hostAPI{serves: []string{tt.serves}, lists: map[string]string{antreaPath: tt.items}}
			s := read(t, newSource(t, serve(t, api), source.Options{}), tt.kinds)
			if diff := cmp.Diff(tt.want, unmodelled(s)); diff != "" {
				t.Errorf("unmodelled (-want +got):\n%s", diff)
			}
			want := append([]snapshot.Read{cilium}, tt.more...)
			if tt.kinds[0] == snapshot.HTTPRoutes {
				want = []snapshot.Read{{Kind: snapshot.HTTPRoutes, Version: "v1", Status: snapshot.Absent}}
			}
			if diff := cmp.Diff(want, s.Reads()); diff != "" {
				t.Errorf("reads (-want +got):\n%s", diff)
			}
		})
	}
}

// What was read of a list that expired counts as little as with other kinds.
func TestPoliciesThatNothingUnderstandsAreReadInPages(t *testing.T) {
	api := &fakeAPI{names: map[string][]string{antreaPath: {"a", "b", "c"}}, serves: []string{antreaServed}}
	expire := kubetest.First(always, kubetest.Page("networkpolicies", true), kubetest.Expire())
	s := read(t, newSource(t, serve(t, kubetest.Disturb(api, expire)), source.Options{}), engines)
	want := []snapshot.Read{
		{Kind: snapshot.CiliumNetworkPolicies, Version: "v2", Status: snapshot.Absent},
		{
			Kind: antreaPolicies, Version: "v1beta1", Status: snapshot.Failed,
			Err: "the list expired 4 times before it was complete",
		},
	}
	if diff := cmp.Diff(want, s.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]snapshot.Unsupported{{Kind: antreaPolicies}}, unmodelled(s)); diff != "" {
		t.Errorf("unmodelled (-want +got):\n%s", diff)
	}
}

// A deadline must not make a cluster look as if there were none of them.
func TestPoliciesThatNothingUnderstandsTakeTooLong(t *testing.T) {
	api := hostAPI{serves: []string{antreaServed, "example.com/v1 fancynetworkpolicies FancyNetworkPolicy"}}
	hang := kubetest.First(always, kubetest.Page("networkpolicies", false), kubetest.Hang())
	source := newSource(t, serve(t, kubetest.Disturb(api, hang)), source.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var b snapshot.Builder
	if _, err := source.Read(ctx, engines, &b); err != nil {
		t.Fatal(err)
	}
	s := b.Freeze()
	want := []snapshot.Read{
		{Kind: snapshot.CiliumNetworkPolicies, Version: "v2", Status: snapshot.Absent},
		{Kind: antreaPolicies, Status: snapshot.Failed, Err: "timed out before the list was complete"},
		{
			Kind: "fancynetworkpolicies.example.com", Version: "v1", Status: snapshot.Failed,
			Err: "the server responds that it does not know this kind, but discovery says that it serves it",
		},
	}
	if diff := cmp.Diff(want, s.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if n := len(unmodelled(s)); n != 2 {
		t.Errorf("%d unmodelled kinds, want 2", n)
	}
}

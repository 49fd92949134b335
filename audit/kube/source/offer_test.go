package source_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestVersionThatIsRead(t *testing.T) {
	const (
		beta   = "policy.networking.k8s.io/v1beta1 clusternetworkpolicies ClusterNetworkPolicy cluster"
		alpha2 = "policy.networking.k8s.io/v1alpha2 clusternetworkpolicies ClusterNetworkPolicy cluster"
		v1     = "policy.networking.k8s.io/v1 clusternetworkpolicies ClusterNetworkPolicy cluster"
		v2     = "policy.networking.k8s.io/v2 clusternetworkpolicies ClusterNetworkPolicy cluster"
		others = "policy.networking.k8s.io/v1alpha1 adminnetworkpolicies AdminNetworkPolicy cluster"
		stale  = "policy.networking.k8s.io/v1beta1 clusternetworkpolicies ClusterNetworkPolicy stale"
	)
	lists := map[string]string{}
	for _, version := range []string{"v1beta1", "v1alpha2", "v1", "v2"} {
		lists["/apis/policy.networking.k8s.io/"+version+"/clusternetworkpolicies"] = ""
	}
	for name, tt := range map[string]struct {
		serves []string
		want   snapshot.Read
	}{
		"is the one there is":                 {[]string{alpha2}, snapshot.Read{Version: "v1alpha2", Status: snapshot.Listed}},
		"is the one that is preferred here":   {[]string{v1, alpha2, beta}, snapshot.Read{Version: "v1beta1", Status: snapshot.Listed}},
		"is none of a group with other kinds": {[]string{others}, snapshot.Read{Version: "v1beta1", Status: snapshot.Absent}},
		"is not guessed": {[]string{v2, v1}, snapshot.Read{
			Status: snapshot.Failed, Err: "served only in versions [v2 v1], which are not supported",
		}},
		"is not known where the server is away": {[]string{stale}, snapshot.Read{
			Status: snapshot.Failed, Err: "the API server cannot reach the server of this group",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := newSource(t, serve(t, hostAPI{serves: tt.serves, lists: lists}), source.Options{})
			s := read(t, source, []snapshot.Kind{snapshot.ClusterNetworkPolicies})
			tt.want.Kind = snapshot.ClusterNetworkPolicies
			if diff := cmp.Diff([]snapshot.Read{tt.want}, s.Reads()); diff != "" {
				t.Errorf("reads (-want +got):\n%s", diff)
			}
		})
	}
}

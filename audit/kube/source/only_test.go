package source_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

const (
	ciliumServed       = "cilium.io/v2 ciliumnetworkpolicies CiliumNetworkPolicy"
	systemCiliumConfig = "/api/v1/namespaces/kube-system/configmaps/cilium-config"
	ownCiliumConfig    = "/api/v1/namespaces/cilium/configmaps/cilium-config"
)

func TestCiliumConfigIsAskedForByName(t *testing.T) {
	const config = `{"metadata":{"name":"cilium-config","namespace":"kube-system"},"data":{"enable-policy":"never"}}`
	for name, tt := range map[string]struct {
		api   hostAPI
		want  snapshot.Read
		paths []string
	}{
		"where Cilium is served": {
			hostAPI{serves: []string{ciliumServed}, objects: map[string]string{systemCiliumConfig: config}},
			snapshot.Read{Version: "v1", Status: snapshot.Listed, Items: 1},
			[]string{ownCiliumConfig, systemCiliumConfig, discoveryPath},
		},
		"where there is none": {
			hostAPI{serves: []string{ciliumServed}},
			snapshot.Read{Version: "v1", Status: snapshot.Listed},
			[]string{ownCiliumConfig, systemCiliumConfig, discoveryPath},
		},
		"but not where Cilium is not served": {
			hostAPI{serves: []string{"example.com/v1 gates Gate"}, objects: map[string]string{systemCiliumConfig: config}},
			snapshot.Read{Version: "v1", Status: snapshot.Absent},
			[]string{discoveryPath},
		},
		"and forbidden is not the same as not there": {
			hostAPI{
				serves: []string{ciliumServed}, lists: map[string]string{ownCiliumConfig: "403"},
				objects: map[string]string{systemCiliumConfig: config},
			},
			snapshot.Read{Status: snapshot.Forbidden, Err: "no"},
			[]string{ownCiliumConfig, systemCiliumConfig, discoveryPath},
		},
		"and one that makes no sense is unknown": {
			hostAPI{serves: []string{ciliumServed}, objects: map[string]string{systemCiliumConfig: `{"metadata":7}`}},
			snapshot.Read{
				Status: snapshot.Failed,
				Err:    "decode ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.metadata of type v1.ObjectMeta",
			},
			[]string{systemCiliumConfig, discoveryPath},
		},
		"and another object is none": {
			hostAPI{serves: []string{ciliumServed}, objects: map[string]string{systemCiliumConfig: `{}`}},
			snapshot.Read{Status: snapshot.Failed, Err: "not one of the objects that matter of its kind"},
			[]string{systemCiliumConfig, discoveryPath},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen recorder
			source := newSource(t, serve(t, kubetest.Disturb(tt.api, seen.decide)), source.Options{})
			s := read(t, source, []snapshot.Kind{snapshot.CiliumConfigs})
			tt.want.Kind = snapshot.CiliumConfigs
			if diff := cmp.Diff([]snapshot.Read{tt.want}, s.Reads()); diff != "" {
				t.Errorf("reads (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.paths, seen.paths()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			off := 0
			for range s.View(snapshot.PolicyKinds()...).Enforcements() {
				off++
			}
			if off != tt.want.Items {
				t.Errorf("%d settings came through, want %d", off, tt.want.Items)
			}
		})
	}
}

func TestCiliumConfigIsAskedForAgain(t *testing.T) {
	api := hostAPI{serves: []string{ciliumServed}, objects: map[string]string{
		systemCiliumConfig: `{"metadata":{"name":"cilium-config","namespace":"kube-system"}}`,
	}}
	config := kubetest.Page("cilium-config", false)
	for name, answer := range map[string]kubetest.Answer{
		"after a 429":                 kubetest.TooManyRequests(-1),
		"after an error":              kubetest.Fail(500, metav1.StatusReasonInternalError, "etcd"),
		"after an answer that is cut": kubetest.Cut(10),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := newSource(t, serve(t, kubetest.Disturb(api, kubetest.First(1, config, answer))), source.Options{})
			s := read(t, source, []snapshot.Kind{snapshot.CiliumConfigs})
			want := []snapshot.Read{{Kind: snapshot.CiliumConfigs, Version: "v1", Status: snapshot.Listed, Items: 1}}
			if diff := cmp.Diff(want, s.Reads()); diff != "" {
				t.Errorf("reads (-want +got):\n%s", diff)
			}
		})
	}
}

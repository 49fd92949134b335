package cilium_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// FuzzSelector reads a label selector as one of Cilium's, which knows more keys: a
// policy that stays in its namespace selects no pod of another one.
func FuzzSelector(f *testing.F) {
	for _, seed := range []string{
		`{}`,
		`{"matchLabels":{"a":"x","b":""}}`,
		`{"matchLabels":{"a":"x"},"matchExpressions":[{"key":"a","operator":"NotIn","values":["x","y"]}]}`,
		`{"matchExpressions":[{"key":"a","operator":"In","values":["y","x","x"]},{"key":"a","operator":"Exists"}]}`,
		`{"matchExpressions":[{"key":"a","operator":"NotIn","values":["x"]},{"key":"b","operator":"DoesNotExist","values":[]}]}`,
		`{"matchExpressions":[{"key":"a","operator":"In"}]}`,
		`{"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]}`,
		`{"matchExpressions":[{"key":"","operator":""}],"matchLabels":{"":"-","k8s:a.b/c":"\u202e"}}`,
		`{"matchLabels":{"any:io.cilium.k8s.namespace.labels.env":"prod","reserved:host":"","io.kubernetes.pod.namespace":"b"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, selector []byte) {
		var s metav1.LabelSelector
		if json.Unmarshal(selector, &s) != nil {
			return
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		spec := fmt.Sprintf(`{"endpointSelector": %s, "ingress": [{"fromEndpoints": [%s]}]}`, text, text)
		for _, namespace := range []string{"team-a", ""} {
			p := cilium(t, namespace, spec)
			peers := p.Subject
			for _, r := range p.Rules[snapshot.DirectionIngress] {
				peers = append(peers, r.Peers.Pods...)
			}
			for _, peer := range peers {
				if !slices.IsSortedFunc(peer.Pods, byKey) || !slices.IsSortedFunc(peer.Namespaces, byKey) {
					t.Errorf("requirements are out of order: %+v", peer)
				}
			}
			elsewhere := snapshot.NewLabels(map[string]string{"kubernetes.io/metadata.name": "team-b"})
			for _, peer := range p.Subject {
				if namespace != "" && !peer.OwnNamespace && peer.Namespaces.Matches(elsewhere) {
					t.Errorf("a policy of team-a selects pods of team-b: %+v", peer)
				}
			}
		}
	})
}

func byKey(a, b snapshot.Requirement) int { return cmp.Compare(a.Key, b.Key) }

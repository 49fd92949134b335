package ingest

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// FuzzSelector compares label selectors with Kubernetes: one that it accepts is accepted
// and matches the same labels, and one that it rejects leads to an error or a selector,
// but not to a panic.
func FuzzSelector(f *testing.F) {
	for _, seed := range []struct{ selector, labels string }{
		{`{}`, `{}`},
		{`{"matchLabels":{"a":"x","b":""}}`, `{"a":"x","b":""}`},
		{`{"matchLabels":{"a":"x"},"matchExpressions":[{"key":"a","operator":"NotIn","values":["x","y"]}]}`, `{"a":"x"}`},
		{`{"matchExpressions":[{"key":"a","operator":"In","values":["y","x","x"]},{"key":"a","operator":"Exists"}]}`, `{"a":"y"}`},
		{`{"matchExpressions":[{"key":"a","operator":"NotIn","values":["x"]},{"key":"b","operator":"DoesNotExist","values":[]}]}`, `{"c":"x"}`},
		{`{"matchExpressions":[{"key":"a","operator":"In"}]}`, `{"a":""}`},
		{`{"matchExpressions":[{"key":"a","operator":"Exists","values":["x"]}]}`, `{"a":"x"}`},
		{`{"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]}`, `{"a":"2"}`},
		{`{"matchExpressions":[{"key":"","operator":""}],"matchLabels":{"":"-","k8s:a.b/c":"\u202e"}}`, `null`},
		{`{"matchLabels":{"any:io.cilium.k8s.namespace.labels.env":"prod","reserved:host":"","io.kubernetes.pod.namespace":"b"}}`, `{"env":"prod"}`},
	} {
		f.Add([]byte(seed.selector), []byte(seed.labels))
	}
	f.Fuzz(func(t *testing.T, selector, labelled []byte) {
		var s metav1.LabelSelector
		var l map[string]string
		if json.Unmarshal(selector, &s) != nil || json.Unmarshal(labelled, &l) != nil {
			return
		}
		got, err := New(nil).selector(&s)
		want, refused := metav1.LabelSelectorAsSelector(&s)
		switch {
		case refused != nil:
		case err != nil:
			t.Errorf("%s is refused: %v", selector, err)
		case got.Matches(snapshot.NewLabels(l)) != want.Matches(labels.Set(l)):
			t.Errorf("%s of %s: %t", selector, labelled, !want.Matches(labels.Set(l)))
		}
	})
}

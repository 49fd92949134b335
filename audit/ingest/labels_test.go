package ingest_test

import (
	"strings"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// One Ingester keeps equal label sets once. Those that only look alike must stay
// what they are.
func TestLabelSetsThatLookAlikeAreNotMixed(t *testing.T) {
	type m = map[string]string
	in := newIngester()
	for _, c := range []struct {
		name   string
		labels m
	}{
		{"two labels", m{"a": "b", "c": "d"}},
		{"the same keys with their values swapped", m{"a": "d", "c": "b"}},
		{"keys and values swapped", m{"b": "a", "d": "c"}},
		{"one label whose value holds the rest", m{"a": "b c d"}},
		{"one label whose key holds the rest", m{"a b c": "d"}},
		{"only the first", m{"a": "b"}},
		{"an empty value", m{"a": ""}},
		{"an empty key", m{"": "a"}},
		{"two empty values", m{"a": "", "b": ""}},
		{"no label", m{}},
		{"two labels, seen for the second time", m{"c": "d", "a": "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := in.Pod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: c.labels}}).Labels
			if got.Len() != len(c.labels) {
				t.Errorf("got %d labels of %v", got.Len(), c.labels)
			}
			for key, want := range c.labels {
				if value, ok := got.Get(key); !ok || value != want {
					t.Errorf("label %q is %q, %t; want %q", key, value, ok, want)
				}
			}
		})
	}
}

// The pods of a workload share their labels, and there may be many of them.
func TestEqualLabelSetsAreKeptOnce(t *testing.T) {
	in := newIngester()
	value := func() *byte {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": strings.Clone("web")}}}
		kept, _ := in.Pod(pod).Labels.Get("app")
		return unsafe.StringData(kept)
	}
	if first, second := value(), value(); first != second {
		t.Error("two pods with equal labels keep them twice")
	}
}

package manifests_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzRead holds that whatever a stream holds, it is read to its end without a
// panic, and alike each time; that each problem says where and why, in one line;
// and that no object is there that was not counted.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "---", "...", "{", "[", "\ufeff", "null", "~", "\x00", "\xff\xfe", "\xfe\xff\x00", "{}\n{}", "- - -", "? a", "*a", "&a *a", "!!binary x",
		namespace("a"), namespaceJSON("a") + namespaceJSON("b"), "---\n" + namespace("a") + "...\n%YAML 1.1\n---\n" + namespace("b"),
		"a: 1\r---\rb: 2", "  a: 1\nb: 2", "... # a\n--- # b\n", "--- {a: 1}\n", "{a: 1}\n{b: 2}", "x: &a [*a]\n", bomb(4),
		nested(9, namespaceJSON("a")), inUTF16(namespace("a"), binary.LittleEndian),
		object("extensions/v1beta1", "Ingress", "web") + "spec: {backend: {}, rules: [{host: \"\"}], tls: [{}]}\n",
		object("networking.k8s.io/v1", "NetworkPolicy", "deny") + "spec: {podSelector: {}, ingress: [{from: [{ipBlock: {cidr: ::/0}}], ports: [{port: http}]}]}\n",
		object("batch/v1", "CronJob", "nightly") + "spec: {jobTemplate: {spec: {template: {spec: {hostNetwork: true}}}}}\n",
		`{"apiVersion":"networking.k8s.io/v1","kind":"IngressList","items":[null,{"metadata":{"name":"a"}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, snap := read(t, stdin(bytes.NewReader(data)))
		again, _ := read(t, stdin(bytes.NewReader(data)))
		if diff := cmp.Diff(got, again, cmp.AllowUnexported(reading{})); diff != "" {
			t.Errorf("read twice (-first +second):\n%s", diff)
		}
		for _, p := range got.problems {
			where, why, _ := strings.Cut(p, ": ")
			if where != "standard input" && !strings.HasPrefix(where, "standard input document ") || why == "" || strings.ContainsAny(p, "\r\n") {
				t.Errorf("problem %q", p)
			}
		}
		counted := 0
		for _, r := range snap.Reads() {
			counted += r.Items
		}
		if counted < len(got.objects) {
			t.Errorf("%d objects, of which %d were counted", len(got.objects), counted)
		}
	})
}

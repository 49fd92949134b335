package manifests_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// A key of the mapping itself wins over that of a mapping merged into it
// (yaml.org/type/merge).
func TestReadMergeKeys(t *testing.T) {
	const first = "- &a {host: a.example.com, http: {paths: [{path: /}]}}\n"
	for _, c := range []struct {
		name, rules string
		hosts       []string
		problem     string
		later       bool // kubectl reads it otherwise
	}{
		{name: "an own key behind the merge", rules: first + "- {<<: *a, host: b.example.com}\n", hosts: []string{"a.example.com", "b.example.com"}},
		{name: "an own key before the merge", rules: first + "- {host: b.example.com, <<: *a}\n", hosts: []string{"a.example.com", "b.example.com"}, later: true},
		{name: "no override", rules: first + "- {<<: *a}\n", hosts: []string{"a.example.com", "a.example.com"}},
		{
			name:  "of several the first wins",
			rules: first + "- &c {host: c.example.com}\n- {<<: [*c, *a]}\n", hosts: []string{"a.example.com", "c.example.com", "c.example.com"},
		},
		{
			name:  "a merge of a merge",
			rules: first + "- &c {<<: *a, host: c.example.com}\n- {<<: *c, host: d.example.com}\n- {<<: *c}\n",
			hosts: []string{"a.example.com", "c.example.com", "d.example.com", "c.example.com"},
		},
		{
			name:  "in block style, with an anchor inside that is used later",
			rules: "- &a\n  host: &h a.example.com\n- <<: *a\n  host: b.example.com\n- host: *h\n", hosts: []string{"a.example.com", "b.example.com", "a.example.com"},
		},
		{
			name: "a key that is there twice is a problem still", rules: first + "- {<<: *a, host: b.example.com, host: c.example.com}\n",
			problem: `key "host" already set in map`,
		},
		{
			name: "and so are two merge keys", rules: first + "- {<<: *a, <<: *a, host: b.example.com}\n", problem: `key "<<" already set in map`,
		},
		{
			name: "a merge of a text", rules: first + "- {<<: text, host: c, host: b}\n", problem: "parse YAML",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := object("networking.k8s.io/v1", "Ingress", "web") + "spec:\n  rules:\n  " + strings.ReplaceAll(strings.TrimSpace(c.rules), "\n", "\n  ") + "\n"
			got, snap := read(t, stdin(strings.NewReader(in)))
			var hosts []string
			for f := range snap.View(snapshot.Ingresses).Ingresses() {
				for _, h := range f.Hosts {
					hosts = append(hosts, h.Host)
				}
			}
			if diff := cmp.Diff(c.hosts, hosts); diff != "" {
				t.Errorf("hosts (-want +got):\n%s", diff)
			}
			if c.problem == "" && len(got.problems) > 0 || c.problem != "" && !strings.Contains(fmt.Sprint(got.problems), c.problem) {
				t.Errorf("problems %q, want %q", got.problems, c.problem)
			}
			if says := notes(t, stdin(strings.NewReader(in)), ""); (len(says) > 0) != c.later {
				t.Errorf("notes %q", says)
			}
		})
	}
}

// Scalars keep the meaning of YAML 1.1 where a document has merges, too.
func TestReadMergeKeysKeepsYAML11(t *testing.T) {
	in := "x: &x {owner: a}\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n  labels: {<<: *x, owner: b}\nspec: {on: 0o7}\n---\n" +
		"x: &x {app: a}\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop, labels: {<<: *x, app: yes}}\n"
	got, _ := read(t, stdin(strings.NewReader(in)))
	if len(got.objects) != 1 || len(got.faults) != 1 || !strings.Contains(got.faults[0], "cannot unmarshal bool") {
		t.Errorf("got %+v, want yes to be a boolean", got)
	}
}

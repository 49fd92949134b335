package manifests_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/audit/manifests"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// mutationsVariable, if set to "all", tries every mutation and not a sample.
const mutationsVariable = "AUDIT_MUTATIONS"

// TestNoValueOfAnObjectConcernsOthers replaces every field of an object of every kind by
// values of the wrong type, size and number. No value may end the sweep, fail a kind or a
// rule, make the object vanish without being named, or change what is said of a namespace
// that has nothing to do with the object.
func TestNoValueOfAnObjectConcernsOthers(t *testing.T) {
	samples := mutationSamples(t)
	want := bystanders(t, sweepManifests(t, calm))
	for _, kind := range slices.Sorted(maps.Keys(samples)) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			all := mutate(samples[kind])
			if os.Getenv(mutationsVariable) != "all" {
				random := rand.New(rand.NewPCG(1, uint64(len(kind))))
				random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
				all = all[:min(len(all), 16)]
			}
			namespaced := samples[kind][0].namespaced
			for batch := range slices.Chunk(all, 60) {
				if what := concerns(t, batch, namespaced, want); what != "" {
					// Which of them it is.
					for _, m := range batch {
						if one := concerns(t, []mutation{m}, namespaced, want); one != "" {
							t.Fatalf("%s = %s: %s", m.path, m.says, one)
						}
					}
					t.Fatalf("only together: %s", what)
				}
			}
		})
	}
}

// concerns sweeps mutated objects, each in a namespace of its own, beside the bystanders,
// and returns what must not be.
func concerns(t *testing.T, batch []mutation, namespaced bool, want map[string]string) string {
	var text bytes.Buffer
	text.WriteString(calm)
	for _, m := range batch {
		fmt.Fprintf(&text, "\n---\n%s\n", m.json)
	}
	res := sweepManifests(t, text.String())
	for _, p := range res.Problems {
		return "problem: " + p.Where + ": " + p.Reason
	}
	items := 0
	for _, r := range res.Reads {
		if !r.Status.Known() {
			return fmt.Sprintf("%s %s: %s", r.Kind, r.Status, r.Err)
		}
		items += r.Items
	}
	if expect := calmObjects + len(batch); items != expect {
		return fmt.Sprintf("%d objects were counted, want %d", items, expect)
	}
	for _, r := range res.Rules {
		if r.Status != audit.RuleRan {
			return fmt.Sprintf("rule %s %s: %s", r.Rule, r.Status, r.Reason)
		}
	}
	for _, f := range res.Faults {
		if strings.Contains(f.Reason, "panic") {
			return fmt.Sprintf("%s: %s", f.Ref, f.Reason)
		}
	}
	if namespaced {
		return cmp.Diff(want, bystanders(t, res))
	}
	return ""
}

// bystanders returns what is said of the namespaces that have nothing to do with any
// mutated object.
func bystanders(t *testing.T, res *audit.Result) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, row := range res.Isolation {
		if strings.HasPrefix(row.Namespace, "calm-") {
			out["row of "+row.Namespace] = fmt.Sprintf("%+v", row)
		}
	}
	for _, f := range res.Findings {
		about := func(o rules.Object) bool { return strings.HasPrefix(o.Namespace+o.Name, "calm-") }
		if slices.ContainsFunc(f.Objects, about) && !slices.ContainsFunc(f.Objects, func(o rules.Object) bool { return !about(o) }) {
			out["finding "+f.ID] = f.Subject.String() + ": " + f.Message
		}
	}
	return out
}

func sweepManifests(t *testing.T, text string) *audit.Result {
	t.Helper()
	c := config.Default()
	src := &manifests.Source{
		Paths: []string{"-"}, Stdin: strings.NewReader(text), OwnerKeys: c.Owners.Keys, HostSources: c.KnownHostSources(),
	}
	at := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	res, err := audit.Sweep(t.Context(), src, catalog.All(), &c, func() time.Time { return at }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// calm are namespaces with findings of their own, and calmObjects is how many objects there are.
const calm = `
{apiVersion: v1, kind: Namespace, metadata: {name: calm-a, labels: {owner: a}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: calm-b, labels: {owner: b}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: calm-a, labels: {app: web}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: calm-b, labels: {app: web}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny, namespace: calm-a}
spec: {podSelector: {}, policyTypes: [Ingress, Egress]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: calm-a}
spec: {ingressClassName: calm, rules: [{host: shop.calm.example}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: calm-b}
spec: {ingressClassName: calm, rules: [{host: shop.calm.example}]}
`

const calmObjects = 7

// sample is an object of the fixtures.
type sample struct {
	object     map[string]any
	namespaced bool
}

// mutationSamples returns the objects of all fixtures by kind, such as "Ingress
// networking.k8s.io". There is one of each kind that rules need and of each host source.
func mutationSamples(t *testing.T) map[string][]sample {
	t.Helper()
	paths, err := filepath.Glob("../../testdata/rules/*/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("fixtures: %v %v", paths, err)
	}
	out := map[string][]sample{}
	for _, path := range append(paths, "testdata/mutations.yaml") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		in := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
		for {
			document, err := in.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			var object map[string]any
			if err != nil || yaml.Unmarshal(document, &object) != nil || object == nil {
				continue
			}
			version, _ := object["apiVersion"].(string)
			group, _, grouped := strings.Cut(version, "/")
			if !grouped {
				group = ""
			}
			kind := strings.TrimSpace(fmt.Sprintf("%s %s", object["kind"], group))
			meta, _ := object["metadata"].(map[string]any)
			_, namespaced := meta["namespace"]
			out[kind] = append(out[kind], sample{object, namespaced})
		}
	}
	for _, s := range hostsource.BuiltIn() {
		if kind := strings.TrimSpace(s.Object + " " + s.Kind.Group()); len(out[kind]) == 0 {
			t.Errorf("no sample of %s", kind)
		}
	}
	known := map[string]bool{}
	for _, kind := range audit.Needs(catalog.All()) {
		known[string(kind)] = true
	}
	for kind := range out {
		object, group, _ := strings.Cut(kind, " ")
		m := snapshot.Meta{Kind: object, Group: group}
		source := slices.ContainsFunc(hostsource.BuiltIn(), func(s hostsource.Source) bool { return s.Object == object && s.Kind.Group() == group })
		if !source && !known[string(m.Resource())] || object == "ConfigMap" {
			delete(out, kind) // no rule reads it, or only one of that name
			continue
		}
		delete(known, string(m.Resource()))
	}
	for kind := range known {
		if k := snapshot.Kind(kind); k != snapshot.HostSources && k != snapshot.CiliumConfigs {
			t.Errorf("no sample of %s", kind)
		}
	}
	return out
}

// mutation is an object of which one field has another value.
type mutation struct {
	path, says string
	json       []byte
}

// hostileValues are what a field is replaced by.
func hostileValues() map[string]any {
	deep := any("x")
	for range 200 {
		deep = map[string]any{"x": []any{deep}}
	}
	return map[string]any{
		"null": nil, "empty text": "", "x": "x", "-1": -1, "70000": 70000, "5000000000": int64(5000000000),
		"1e400": json.RawMessage("1e400"), "true": true, "[]": []any{}, "{}": map[string]any{}, "[null]": []any{nil},
		"nested 400 deep": deep, "a megabyte": strings.Repeat("a(", 1<<19), "0.5": 0.5,
	}
}

// mutate returns the mutations of the objects of one kind, each field of which is
// replaced once, however many objects have it.
func mutate(samples []sample) []mutation {
	var out []mutation
	seen := map[string]bool{}
	values := hostileValues()
	for _, s := range samples {
		whole := clone(s.object)
		meta := whole["metadata"].(map[string]any)
		each(whole, "", func(path string, set func(any)) {
			if seen[path] || path == ".apiVersion" || path == ".kind" || path == ".metadata" || path == ".metadata.name" || path == ".metadata.namespace" {
				return
			}
			seen[path] = true
			for _, says := range slices.Sorted(maps.Keys(values)) {
				meta["name"] = fmt.Sprintf("m-%d", len(out))
				if s.namespaced {
					meta["namespace"] = fmt.Sprintf("m-%d", len(out))
				}
				set(values[says])
				text, err := json.Marshal(whole)
				if err != nil {
					panic(err) // values of JSON can be encoded
				}
				out = append(out, mutation{path: path, says: says, json: text})
			}
		})
	}
	return out
}

func clone(object map[string]any) map[string]any {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}

// each calls a function for each field below a value, with its path without indexes and
// what sets it. Afterwards it has its own value again.
func each(value any, path string, visit func(path string, set func(any))) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			kept := v[key]
			visit(path+"."+key, func(to any) { v[key] = to })
			v[key] = kept
			each(kept, path+"."+key, visit)
		}
	case []any:
		for i, kept := range v {
			visit(path+"[]", func(to any) { v[i] = to })
			v[i] = kept
			each(kept, path+"[]", visit)
		}
	}
}

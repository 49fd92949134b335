package ingest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// gates is a source of hosts.
func gates(t testing.TB, expression string) *hostsource.Source {
	t.Helper()
	hosts, err := hostsource.Compile(expression)
	if err != nil {
		t.Fatal(err)
	}
	return &hostsource.Source{Kind: "gates.example.com", Object: "Gate", Versions: []string{"v1"}, Hosts: hosts, Deep: true}
}

// takeHosts ingests an object of a source, written in YAML.
func takeHosts(t testing.TB, s *hostsource.Source, manifest string) snapshot.HostObject {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	custom := ingest.HostKind(t.Context(), s)
	var facts snapshot.Facts
	if err := custom.Take(ingest.New([]string{"owner"}), data, &facts); err != nil {
		t.Fatal(err)
	}
	return facts.HostObjects[0]
}

func TestHostObject(t *testing.T) {
	got := takeHosts(t, gates(t, "object.spec.hosts"), `
apiVersion: example.com/v1
kind: Gate
metadata:
  namespace: team-a
  name: front
  uid: 1111-2222
  creationTimestamp: "2027-01-15T12:00:00+01:00"
  labels: {owner: team-a}
spec: {hosts: ["*.example.com", shop.example.com, "/x"]}
`)
	created := time.Date(2027, 1, 15, 11, 0, 0, 0, time.UTC)
	want := snapshot.HostObject{
		Meta: snapshot.Meta{
			Group: "example.com", Kind: "Gate", Namespace: "team-a", Name: "front",
			Created: created, HostsSet: created, Owner: snapshot.OwnerKey{Value: "team-a", Key: "owner"},
		},
		Hosts:   []snapshot.HostPattern{{Host: "*.example.com", Deep: true}, {Host: "shop.example.com"}},
		Invalid: []string{"/x"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
}

func TestHostObjectThatCannotBeRead(t *testing.T) {
	many := "[" + strings.TrimSuffix(strings.Repeat("a,", 6000), ",") + "]"
	for _, c := range []struct{ says, expression, spec, want string }{
		{"a field that is not there", "object.spec.hosts", "{}", "no such key: hosts"},
		{"a field that is null, which is as good", "object.spec.hosts", "{hosts: null}", "no such key: hosts"},
		{"a number", "object.spec.hosts", "{hosts: 1}", "the expression returns a value of type int"},
		{"more hosts than anybody has", "object.spec.hosts", "{hosts: " + many + "}", "the object has more than 5000 hosts"},
		{"more than 3 MiB", "object.spec.hosts", "{hosts: " + strings.Repeat("a", 3<<20) + "}", "it is larger than 3 MiB"},
		{"null, where that is asked for", "object.?spec.?hosts", "{hosts: null}", ""},
	} {
		got := takeHosts(t, gates(t, c.expression), "metadata: {name: a, namespace: b}\nspec: "+c.spec)
		if got.Err != c.want || len(got.Hosts)+len(got.Invalid) > 0 || got.Name != "a" {
			t.Errorf("%s: got %.200v", c.says, got)
		}
	}
}

// Anyone can add any number of finalizers of any length to their objects.
func TestFinalizersAreNamed(t *testing.T) {
	at := time.Date(2027, 1, 16, 12, 0, 0, 0, time.UTC)
	long := strings.Repeat("a", 400)
	for _, c := range []struct{ finalizers, want string }{
		{"[]", ""},
		{"[example.com/keep]", "finalizer example.com/keep"},
		{"[example.com/b, example.com/a]", "finalizers example.com/a, example.com/b"},
		{"[e, d, c, b, a]", "finalizers a, b, c and 2 more"},
		{"[" + long + "]", "finalizer " + long[:290] + "..."},
	} {
		manifest := `{metadata: {name: a, namespace: b, deletionTimestamp: "2027-01-16T12:00:00Z", finalizers: ` + c.finalizers + `}, spec: {host: a.com}}`
		got := takeHosts(t, gates(t, "object.spec.host"), manifest)
		if want := (snapshot.Deletion{At: at, Held: c.want}); !got.Deleting() || *got.Deletion != want || len(got.Hosts) != 1 {
			t.Errorf("finalizers %.60s: got %+v with %v, want %+v", c.finalizers, got.Deletion, got.Hosts, want)
		}
	}
}

func TestHostsAreSetAtTheLatest(t *testing.T) {
	const head = `{metadata: {name: a, namespace: b, creationTimestamp: "2027-01-15T12:00:00Z"`
	const managers = `managedFields: [
		{manager: kubectl, time: "2027-01-16T12:00:00Z", fieldsV1: {"f:metadata": {}}},
		{manager: helm, time: "2027-01-17T12:00:00Z", fieldsV1: {"f:spec": {"f:hosts": {}}}},
		{manager: flagger, time: "2027-01-18T12:00:00Z", fieldsV1: {"f:spec": {"f:http": {}}}},
		{manager: argo, time: "2027-01-19T12:00:00Z", fieldsV1: {"f:metadata": {"f:annotations": {}}}},
		{manager: router, time: "2027-01-20T12:00:00Z", subresource: status, fieldsV1: {"f:status": {}}}]`
	inSpec, inName, anywhere := []string{"spec.gateways", "spec.hosts"}, []string{"metadata.name"}, []string(nil)
	for _, c := range []struct {
		says, meta string
		fields     []string
		want       string // the day in January; empty: not known
	}{
		{"a manifest without the metadata", "", inSpec, "15"},
		{"a manifest without the metadata, from anywhere", "", anywhere, "15"},
		{"a spec that never changed", "generation: 1, " + managers, inSpec, "15"},
		{"a spec that changed", "generation: 4, " + managers, inSpec, "17"},
		{"another field of the spec that changed", "generation: 4, " + managers, []string{"spec.http"}, "18"},
		{"a field without a manager", "generation: 4, " + managers, []string{"spec.tls"}, ""},
		{"a spec of a server that does not count", managers, inSpec, "17"},
		{"the name, whatever changed", "generation: 4, " + managers, inName, "15"},
		{"anything that changed", "generation: 1, " + managers, anywhere, "19"},
		{"a change without a manager", "generation: 4", inSpec, ""},
		{"a change without a manager, from anywhere", "generation: 4", anywhere, ""},
		{"a change without a time", `managedFields: [{manager: x, fieldsV1: {"f:spec": {"f:hosts": {}}}}]`, inSpec, ""},
		{"a change without a time, from anywhere", `managedFields: [{manager: x, fieldsV1: {"f:spec": {}}}]`, anywhere, ""},
	} {
		s := gates(t, "null")
		s.Fields = c.fields
		text := head
		if c.meta != "" {
			text += ", " + c.meta
		}
		var want time.Time
		if c.want != "" {
			want, _ = time.Parse(time.DateOnly, "2027-01-"+c.want)
			want = want.Add(12 * time.Hour)
		}
		if got := takeHosts(t, s, text+"}}").HostsSet; !got.Equal(want) {
			t.Errorf("%s: got %s, want %s", c.says, got, want)
		}
	}
}

func TestHostObjectAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("over"))
	custom := ingest.HostKind(ctx, gates(t, "object.metadata.name"))
	var facts snapshot.Facts
	err := custom.Take(ingest.New(nil), []byte(`{"metadata": {"name": "a"}}`), &facts)
	if fmt.Sprint(err) != "the reading has ended: over" || len(facts.HostObjects)+len(facts.Faults) > 0 {
		t.Errorf("got %v and %v", facts.HostObjects, err)
	}
}

// A sweep of a large cluster ingests tens of thousands of objects.
func BenchmarkHostObject(b *testing.B) {
	sources := hostsource.BuiltIn()
	i := 0
	for sources[i].Object != "VirtualService" {
		i++
	}
	custom := ingest.HostKind(b.Context(), &sources[i])
	in := ingest.New([]string{"owner", "team"})
	fields := map[string]any{"f:spec": map[string]any{}}
	for j := range 100 {
		fields["f:spec"].(map[string]any)[fmt.Sprint("f:", j)] = map[string]any{}
	}
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"name": "web", "namespace": "team-a", "generation": 2,
			"managedFields": []any{map[string]any{"manager": "helm", "time": "2027-01-17T12:00:00Z", "fieldsV1": fields}},
		},
		"spec": map[string]any{"gateways": []any{"public"}, "hosts": []any{"shop.example.com", "www.example.com"}},
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var facts snapshot.Facts
		if err := custom.Take(in, data, &facts); err != nil {
			b.Fatal(err)
		}
	}
}

func TestIstioGateway(t *testing.T) {
	all := ingest.Customs()
	i := slices.IndexFunc(all, func(c ingest.Custom) bool { return c.Kind == snapshot.IstioGateways })
	var facts snapshot.Facts
	for _, data := range []string{
		`{"metadata": {"name": "public", "namespace": "edge"}, "spec": {"servers": [
			{"port": {"number": 80}, "hosts": ["team-a/*", "./Own.example.com"]}, {"hosts": ["*"]}, {}]}}`,
		`{"metadata": {"name": "bare", "namespace": "edge"}}`,
	} {
		if err := all[i].Take(ingest.New(nil), []byte(data), &facts); err != nil {
			t.Fatal(err)
		}
	}
	want := []snapshot.IstioGateway{
		{
			Meta:  snapshot.Meta{Group: "networking.istio.io", Kind: "Gateway", Namespace: "edge", Name: "public"},
			Hosts: []string{"team-a/*", "./Own.example.com", "*"},
		},
		{Meta: snapshot.Meta{Group: "networking.istio.io", Kind: "Gateway", Namespace: "edge", Name: "bare"}},
	}
	if diff := cmp.Diff(want, facts.IstioGateways); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

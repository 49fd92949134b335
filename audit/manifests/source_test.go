package manifests_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/audit/manifests"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestCheck(t *testing.T) {
	root := write(t, map[string]string{"a.yaml": namespace("a"), "gone.yaml": "-> nowhere"})
	path := func(name string) string { return filepath.Join(root, name) }
	for _, c := range []struct {
		name  string
		paths []string
		want  string // without the folder; empty for no error
	}{
		{name: "a file, a folder and the standard input can be read", paths: []string{path("a.yaml"), root, "-"}},
		{name: "a path that is not there cannot", paths: []string{root, path("b.yaml")}, want: "read manifests: open /b.yaml: no such file or directory"},
		{name: "a link to nowhere cannot", paths: []string{path("gone.yaml")}, want: "read manifests: open /gone.yaml: no such file or directory"},
		{name: "an empty path is none", paths: []string{""}, want: "read manifests: open : no such file or directory"},
		{
			name: "all that cannot be read is named at once", paths: []string{path("b"), path("a.yaml"), path("c")},
			want: "read manifests: open /b: no such file or directory\nread manifests: open /c: no such file or directory",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := (&manifests.Source{Paths: c.paths}).Check()
			got := ""
			if err != nil {
				got = strings.ReplaceAll(err.Error(), root, "")
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

var errEnded = errors.New("ended by interrupt")

// ending is a stream that ends a context once it was read up to its end.
type ending struct {
	io.Reader
	end context.CancelCauseFunc
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err != nil {
		e.end(errEnded)
	}
	return n, err
}

// What was read before the context ended is a part, and must not be handed over
// as if it were the whole.
func TestReadThatWasEndedHandsOverNothing(t *testing.T) {
	folder := write(t, map[string]string{"a.yaml": namespace("a"), "b.yaml": namespace("b")})
	empty := write(t, nil)
	for _, c := range []struct {
		name  string
		paths []string
		in    string
		early bool // the context has ended before
	}{
		{"before a folder is read", []string{folder}, "", true},
		{"before a folder without manifests is read", []string{empty}, "", true},
		{"before the standard input is read", []string{"-"}, namespace("c"), true},
		{"while YAML is read", []string{"-"}, namespace("c") + "---\n" + namespace("d"), false},
		{"while JSON is read", []string{"-"}, namespaceJSON("c") + namespaceJSON("d"), false},
		{"between two paths", []string{"-", folder}, namespace("c"), false},
		{"behind the last path", []string{folder, "-"}, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, end := context.WithCancelCause(t.Context())
			defer end(nil)
			if c.early {
				end(errEnded)
			}
			src := &manifests.Source{Paths: c.paths, Stdin: &ending{strings.NewReader(c.in), end}}
			var b snapshot.Builder
			got, err := src.Read(ctx, []snapshot.Kind{snapshot.Namespaces}, &b)
			if !errors.Is(err, errEnded) {
				t.Errorf("error %v, want the reason for which the context ended", err)
			}
			if len(got.Problems)+len(got.Ignored) > 0 {
				t.Errorf("got %+v of a reading that was ended", got)
			}
			if snap := b.Freeze(); len(objects(snap)) > 0 || snap.Status(snapshot.Namespaces).Known() {
				t.Error("the builder was handed something")
			}
		})
	}
}

// unending is a stream of documents that ends a context early and is itself
// not to be read much further.
type unending struct {
	endless
	end   context.CancelCauseFunc
	reads int
}

func (u *unending) Read(p []byte) (int, error) {
	u.reads++
	if u.reads == 3 {
		u.end(errEnded)
	}
	if u.reads > 100 {
		return 0, io.EOF
	}
	return u.endless.Read(p)
}

func TestReadThatWasEndedStopsInTheMiddleOfAStream(t *testing.T) {
	for name, text := range map[string]string{"YAML": namespace("a") + "---\n", "JSON": namespaceJSON("a") + "\n"} {
		t.Run(name, func(t *testing.T) {
			ctx, end := context.WithCancelCause(t.Context())
			defer end(nil)
			in := &unending{endless: endless{text: text}, end: end}
			var b snapshot.Builder
			if _, err := stdin(in).Read(ctx, []snapshot.Kind{snapshot.Namespaces}, &b); !errors.Is(err, errEnded) {
				t.Errorf("error %v, want the reason for which the context ended", err)
			}
			if in.reads > 100 {
				t.Error("the stream was read on after the context had ended")
			}
		})
	}
}

// A stream that breaks off is a problem and does not end the sweep.
func TestReadStreamThatBreaksOff(t *testing.T) {
	broken := func(text string) io.Reader {
		return io.MultiReader(strings.NewReader(text), &failing{errors.New("connection reset")})
	}
	for _, c := range []struct{ name, in, want string }{
		{"YAML", namespace("a") + "---\n" + namespace("b"), "standard input document 2: connection reset"},
		{"JSON", namespaceJSON("a") + `{"kind":`, "standard input document 2: parse JSON: connection reset; what follows was not read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := read(t, stdin(broken(c.in)))
			if len(got.problems) != 1 || got.problems[0] != c.want {
				t.Errorf("problems %q, want %q", got.problems, c.want)
			}
			if len(got.objects) != 1 || got.objects[0] != "Namespace a" {
				t.Errorf("objects %q, want what stood before the break", got.objects)
			}
		})
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

func TestReadOfAPipeThatNeverEndsEndsWithItsDeadline(t *testing.T) {
	never, keep := io.Pipe()
	defer keep.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	var b snapshot.Builder
	src := &manifests.Source{Paths: []string{"-"}, Stdin: never}
	if _, err := src.Read(ctx, []snapshot.Kind{snapshot.Pods}, &b); err != nil {
		t.Fatalf("a deadline is no error but leaves kinds unread: %v", err)
	}
	if got := b.Freeze().Status(snapshot.Pods); got != snapshot.Failed {
		t.Errorf("pods are %s, want %s", got, snapshot.Failed)
	}
}

func TestReadOfAPipeThatNeverEndsEndsWhenCancelled(t *testing.T) {
	never, keep := io.Pipe()
	defer keep.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var b snapshot.Builder
	src := &manifests.Source{Paths: []string{"-"}, Stdin: never}
	if _, err := src.Read(ctx, []snapshot.Kind{snapshot.Pods}, &b); err == nil {
		t.Error("a cancelled read gave no error")
	}
}

// hostManifests hold objects of host sources, one of them in an unknown version and one of
// another group.
const hostManifests = `
apiVersion: networking.istio.io/v1alpha3
kind: VirtualService
metadata: {name: shop, namespace: team-a}
spec: {hosts: [shop.example.com], gateways: [public]}
---
apiVersion: v1
kind: List
items:
  - apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: shop}
    spec: {virtualhost: {fqdn: shop.example.com}}
  - apiVersion: projectcontour.io/v9
    kind: HTTPProxy
    metadata: {name: new, namespace: team-a}
    spec: {virtualhost: {fqdn: new.example.com}}
---
apiVersion: example.com/v1
kind: Route
metadata: {name: other, namespace: team-a}
spec: {host: other.example.com}
---
apiVersion: networking.istio.io/v1
kind: VirtualServiceList
items:
  - metadata: {name: blog, namespace: team-b}
    spec: {hosts: [blog.example.com], gateways: [public]}
`

// readHosts reads manifests with host sources for the given kinds.
func readHosts(t *testing.T, sources []hostsource.Source, in string, kinds ...snapshot.Kind) (*snapshot.Snapshot, audit.Reading) {
	t.Helper()
	src := &manifests.Source{Paths: []string{"-"}, Stdin: strings.NewReader(in), HostSources: sources}
	var b snapshot.Builder
	reading, err := src.Read(t.Context(), kinds, &b)
	if err != nil {
		t.Fatal(err)
	}
	return b.Freeze(), reading
}

func TestHostObjectsInManifests(t *testing.T) {
	snap, reading := readHosts(t, hostsource.BuiltIn(), hostManifests, snapshot.Namespaces, snapshot.HostSources)
	var got []string
	for o := range snap.View(snapshot.HostSources).HostObjects() {
		got = append(got, o.Ref().String()+" "+o.Hosts[0].Host)
	}
	want := []string{
		"HTTPProxy default/shop shop.example.com",
		"VirtualService team-a/shop shop.example.com",
		"VirtualService team-b/blog blog.example.com",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	reads := []snapshot.Read{
		{Kind: snapshot.Namespaces, Version: "v1", Status: snapshot.Listed},
		{Kind: "virtualservices.networking.istio.io", Version: "v1", Status: snapshot.Listed, Items: 2},
		{Kind: "httpproxies.projectcontour.io", Version: "v1", Status: snapshot.Listed, Items: 1},
	}
	if diff := cmp.Diff(reads, snap.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	passed := map[audit.IgnoredKind]bool{
		{Group: "example.com", Version: "v1", Kind: "Route", Items: 1}: true,
	}
	for _, p := range reading.Ignored {
		if !passed[p] {
			t.Errorf("ignored: %+v", p)
		}
	}
	// What another version than those of its source means is unknown.
	problem := []audit.Problem{{
		Where: "standard input document 2 item 2", Kind: "HTTPProxy",
		Reason: "HTTPProxy of projectcontour.io/v9 is not supported: what this version means is unknown",
	}}
	if diff := cmp.Diff(problem, reading.Problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if len(reading.Ignored) != len(passed) || snap.Status(snapshot.HostSources) != snapshot.Listed {
		t.Errorf("%d ignored, problems %v, sources %s", len(reading.Ignored), reading.Problems, snap.Status(snapshot.HostSources))
	}
}

func TestHostSourceOfTheConfigIsReadEvenIfThereIsNothing(t *testing.T) {
	hosts, err := hostsource.Compile("object.spec.host")
	if err != nil {
		t.Fatal(err)
	}
	sources := append(hostsource.BuiltIn(), hostsource.Source{
		Kind: "gates.example.com", Object: "Gate", Versions: []string{"v1beta2"}, Hosts: hosts,
	})
	snap, _ := readHosts(t, sources, "", snapshot.HostSources)
	want := []snapshot.Read{{Kind: "gates.example.com", Version: "v1beta2", Status: snapshot.Listed}}
	if diff := cmp.Diff(want, snap.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}

func TestHostObjectsThatNoRuleNeedsArePassedOver(t *testing.T) {
	snap, reading := readHosts(t, hostsource.BuiltIn(), hostManifests, snapshot.Namespaces)
	if len(reading.Ignored) != 5 || len(snap.Reads()) != 1 {
		t.Errorf("ignored %v, read %v", reading.Ignored, snap.Reads())
	}
}

func TestHostObjectsEndWithTheContext(t *testing.T) {
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	src := &manifests.Source{Paths: []string{"-"}, Stdin: strings.NewReader(hostManifests), HostSources: hostsource.BuiltIn()}
	if _, err := src.Read(ctx, []snapshot.Kind{snapshot.HostSources}, new(snapshot.Builder)); !errors.Is(err, over) {
		t.Errorf("got %v, want the cause of the end", err)
	}
}

package manifests_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit/manifests"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

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

// A stream that breaks off is a problem and no end of the sweep.
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

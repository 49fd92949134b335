package snapshot_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// reads are all that a View serves, by the kinds that each asks for.
func reads() map[string]func(*snapshot.View) {
	return map[string]func(*snapshot.View){
		"namespaces":                       func(v *snapshot.View) { v.Namespaces() },
		"namespaces by name":               func(v *snapshot.View) { v.Namespace("a") },
		"ingresses.networking.k8s.io":      func(v *snapshot.View) { v.Ingresses() },
		"ingressclasses.networking.k8s.io": func(v *snapshot.View) { v.IngressClasses() },
		"policies":                         func(v *snapshot.View) { v.Policies() },
		"workloads":                        func(v *snapshot.View) { v.Workloads() },
		"pods":                             func(v *snapshot.View) { v.Pods() },
	}
}

func kindsOf(read string) []snapshot.Kind {
	switch read {
	case "workloads":
		return snapshot.WorkloadKinds()
	case "policies":
		return snapshot.PolicyKinds()
	case "namespaces by name":
		return []snapshot.Kind{snapshot.Namespaces}
	}
	return []snapshot.Kind{snapshot.Kind(read)}
}

func TestViewServesDeclaredKindsOnly(t *testing.T) {
	var b snapshot.Builder
	s := b.Freeze()
	for name, read := range reads() {
		t.Run(name, func(t *testing.T) {
			kinds := kindsOf(name)
			v := s.View(kinds...)
			if len(v.Asked()) != 0 {
				t.Errorf("a fresh view was asked for %q", v.Asked())
			}
			read(v)
			if diff := cmp.Diff(kinds, v.Asked()); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			// One of the kinds short, the same read panics and names it.
			panics(t, string(kinds[0]), func() { read(s.View(kinds[1:]...)) })
		})
	}
}

func panics(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, want) {
			t.Errorf("the panic says %q, want %q in it", text, want)
		}
	}()
	f()
}

func TestViewYieldsTheFactsThemselvesAndCanBeLeft(t *testing.T) {
	var b snapshot.Builder
	b.Add(snapshot.Facts{Pods: []snapshot.Pod{pod("a", "x", ""), pod("a", "y", "")}})
	s := b.Freeze()
	var first, again *snapshot.Pod
	for p := range s.View(snapshot.Pods).Pods() {
		first = p
		break
	}
	for p := range s.View(snapshot.Pods).Pods() {
		again = p
		break
	}
	if first == nil || first != again || first.Name != "x" {
		t.Errorf("the first pod is %v, then %v", first, again)
	}
}

func TestNamespaceIsFoundByName(t *testing.T) {
	var b snapshot.Builder
	for _, name := range []string{"b", "a", "ab", "c-1", "c"} {
		b.Add(snapshot.Facts{Namespaces: []snapshot.Namespace{{Meta: snapshot.Meta{Kind: "Namespace", Name: name}}}})
	}
	s := b.Freeze()
	for _, name := range []string{"a", "ab", "b", "c", "c-1"} {
		if ns := s.Namespace(name); ns == nil || ns.Name != name {
			t.Errorf("Namespace(%q) = %v", name, ns)
		}
	}
	for _, name := range []string{"", "aa", "c-", "d"} {
		if ns := s.Namespace(name); ns != nil {
			t.Errorf("Namespace(%q) = %v, want none", name, ns)
		}
	}
}

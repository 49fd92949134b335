package workloads

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestTemplateLabels(t *testing.T) {
	own := map[string]string{"app": "web"}
	for _, c := range []struct {
		kind string
		want map[string]string // beside the template's own
	}{
		{"Deployment", map[string]string{"pod-template-hash": ""}},
		{"StatefulSet", map[string]string{
			"statefulset.kubernetes.io/pod-name": "web-0", "apps.kubernetes.io/pod-index": "0", "controller-revision-hash": "",
		}},
		{"DaemonSet", map[string]string{"controller-revision-hash": "", "pod-template-generation": ""}},
		{"Job", map[string]string{
			"batch.kubernetes.io/job-name": "web", "job-name": "web",
			"batch.kubernetes.io/controller-uid": "1-2-3", "controller-uid": "1-2-3",
		}},
		{"CronJob", map[string]string{
			"batch.kubernetes.io/job-name": "", "job-name": "", "batch.kubernetes.io/controller-uid": "", "controller-uid": "",
		}},
		{"ReplicaSet", nil},
		{"ReplicationController", nil},
	} {
		t.Run(c.kind, func(t *testing.T) {
			w := &snapshot.Workload{
				Meta: snapshot.Meta{Kind: c.kind, Namespace: "shop", Name: "web"}, UID: "1-2-3",
				PodLabels: snapshot.NewLabels(own),
			}
			want := maps.Clone(own)
			maps.Copy(want, c.want)
			if got := templateLabels(w); got.Key() != snapshot.NewLabels(want).Key() {
				t.Errorf("templateLabels = %q, want %v", got.Key(), want)
			}
		})
	}
}

func TestTemplateLabelsKeepWhatTheTemplateSays(t *testing.T) {
	w := &snapshot.Workload{
		Meta:      snapshot.Meta{Kind: "Deployment", Name: "web"},
		PodLabels: snapshot.NewLabels(map[string]string{"pod-template-hash": "mine"}),
	}
	if got, _ := templateLabels(w).Get("pod-template-hash"); got != "mine" {
		t.Errorf("pod-template-hash = %q, want that of the template", got)
	}
}

// chain returns ReplicaSets of which each is controlled by the one that the map
// names.
func chain(controllers map[string]string) map[snapshot.Ref]*snapshot.Workload {
	known := map[snapshot.Ref]*snapshot.Workload{}
	for name, by := range controllers {
		w := &snapshot.Workload{Meta: snapshot.Meta{Group: "apps", Kind: "ReplicaSet", Namespace: "shop", Name: name}}
		if by != "" {
			w.Controller = controllerNamed(by)
		}
		known[w.Ref()] = w
	}
	return known
}

func controllerNamed(name string) snapshot.Controller {
	return snapshot.Controller{Group: "apps", Kind: "ReplicaSet", Name: name}
}

func TestTopmost(t *testing.T) {
	for _, c := range []struct {
		name        string
		controllers map[string]string
		by          snapshot.Controller
		want        string // empty: none
	}{
		{"nothing controls it", map[string]string{"a": ""}, snapshot.Controller{}, ""},
		{"its controller is not known", map[string]string{"a": ""}, controllerNamed("b"), ""},
		{"its controller is on top", map[string]string{"a": ""}, controllerNamed("a"), "a"},
		{"its controller's controller is on top", map[string]string{"a": "b", "b": ""}, controllerNamed("a"), "b"},
		{"the one above is not known", map[string]string{"a": "b", "b": "gone"}, controllerNamed("a"), "b"},
		{"a kind of the same name in another group", map[string]string{"a": ""}, snapshot.Controller{Group: "example.com", Kind: "ReplicaSet", Name: "a"}, ""},
		{"another kind of the same name", map[string]string{"a": ""}, snapshot.Controller{Group: "apps", Kind: "Deployment", Name: "a"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if w := topmost(chain(c.controllers), "shop", c.by); w != nil {
				got = w.Name
			}
			if got != c.want {
				t.Errorf("topmost = %q, want %q", got, c.want)
			}
		})
	}
	if w := topmost(chain(map[string]string{"a": ""}), "other", controllerNamed("a")); w != nil {
		t.Errorf("topmost = %q of another namespace", w.Name)
	}
}

// Owner references can be written by hand, so they may go round. Whoever is in the
// circle or below it must not be lost: a workload that no one sees is one that no
// one finds open.
func TestCircularOwnersLoseNobody(t *testing.T) {
	for _, c := range []struct {
		name        string
		controllers map[string]string
		want        []string
	}{
		{"it controls itself", map[string]string{"a": "a"}, []string{"a"}},
		{"two control each other", map[string]string{"a": "b", "b": "a"}, []string{"a", "b"}},
		{"three control each other", map[string]string{"a": "b", "b": "c", "c": "a"}, []string{"a", "b", "c"}},
		{"one stands below a circle", map[string]string{"a": "b", "b": "c", "c": "b"}, []string{"b", "c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b snapshot.Builder
			var facts snapshot.Facts
			for _, w := range chain(c.controllers) {
				facts.Workloads = append(facts.Workloads, *w)
			}
			b.Add(facts)
			if diff := cmp.Diff(c.want, namesOf(Live(b.Freeze().View(workloadKinds()...))["shop"])); diff != "" {
				t.Errorf("without pods (-want +got):\n%s", diff)
			}
			facts.Pods = []snapshot.Pod{{
				Meta: snapshot.Meta{Kind: "Pod", Namespace: "shop", Name: "pod"}, Controller: controllerNamed("a"),
			}}
			b.Add(facts)
			live := Live(b.Freeze().View(workloadKinds()...))["shop"]
			if !slices.ContainsFunc(live, func(w *Workload) bool { return len(w.Pods) == 1 && w.Pods[0].Labels.Len() == 0 }) {
				t.Errorf("the pod is with none of %q", namesOf(live))
			}
		})
	}
}

func workloadKinds() []snapshot.Kind { return append(snapshot.WorkloadKinds(), snapshot.Pods) }

func namesOf(list []*Workload) []string {
	var out []string
	for _, w := range list {
		out = append(out, w.Meta.Name)
	}
	return out
}

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

// made is a workload of a test, and the reference that controls it.
type made struct {
	kind, name string
	uid        snapshot.UID
	by         snapshot.Controller
}

func known(list ...made) map[snapshot.Ref]*snapshot.Workload {
	out := map[snapshot.Ref]*snapshot.Workload{}
	for _, m := range list {
		w := m.fact()
		out[w.Ref()] = &w
	}
	return out
}

func (m made) fact() snapshot.Workload {
	return snapshot.Workload{
		Meta:     snapshot.Meta{Group: groupOf(m.kind), Kind: m.kind, Namespace: "shop", Name: m.name},
		Identity: m.uid, Controller: m.by,
	}
}

func groupOf(kind string) string {
	switch kind {
	case "Job", "CronJob":
		return "batch"
	}
	return "apps"
}

func by(kind, name string, uid snapshot.UID) snapshot.Controller {
	return snapshot.Controller{Group: groupOf(kind), Kind: kind, Name: name, UID: uid}
}

func TestTopmost(t *testing.T) {
	for _, c := range []struct {
		name  string
		there []made
		by    snapshot.Controller
		want  string // empty: none
	}{
		{"nothing controls it", []made{{"ReplicaSet", "a", 1, snapshot.Controller{}}}, snapshot.Controller{}, ""},
		{"its controller is not known", []made{{"ReplicaSet", "a", 1, snapshot.Controller{}}}, by("ReplicaSet", "b", 1), ""},
		{"its controller is on top", []made{{"ReplicaSet", "a", 1, snapshot.Controller{}}}, by("ReplicaSet", "a", 1), "a"},
		{"of a Deployment", []made{{"ReplicaSet", "a", 1, by("Deployment", "b", 2)}, {"Deployment", "b", 2, snapshot.Controller{}}}, by("ReplicaSet", "a", 1), "b"},
		{"of a CronJob", []made{{"Job", "a", 1, by("CronJob", "b", 2)}, {"CronJob", "b", 2, snapshot.Controller{}}}, by("Job", "a", 1), "b"},
		{"the one above is not known", []made{{"ReplicaSet", "a", 1, by("Deployment", "b", 2)}}, by("ReplicaSet", "a", 1), "a"},
		{
			"a kind of the same name in another group",
			[]made{{"ReplicaSet", "a", 1, snapshot.Controller{}}},
			snapshot.Controller{Group: "example.com", Kind: "ReplicaSet", Name: "a", UID: 1},
			"",
		},
		{"another kind of the same name", []made{{"ReplicaSet", "a", 1, snapshot.Controller{}}}, by("Deployment", "a", 1), ""},
		// Whoever writes a pod or a workload writes its references.
		{"another UID", []made{{"Deployment", "a", 1, snapshot.Controller{}}}, by("Deployment", "a", 2), ""},
		{"no UID", []made{{"Deployment", "a", 1, snapshot.Controller{}}}, by("Deployment", "a", 0), ""},
		{"a manifest without a UID", []made{{"Deployment", "a", 0, snapshot.Controller{}}}, by("Deployment", "a", 2), "a"},
		{"another UID above", []made{{"ReplicaSet", "a", 1, by("Deployment", "b", 3)}, {"Deployment", "b", 2, snapshot.Controller{}}}, by("ReplicaSet", "a", 1), "a"},
		{"one that makes no workloads above", []made{{"Deployment", "a", 1, by("CronJob", "b", 2)}, {"CronJob", "b", 2, snapshot.Controller{}}}, by("Deployment", "a", 1), "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if w := topmost(known(c.there...), "shop", c.by); w != nil {
				got = w.Name
			}
			if got != c.want {
				t.Errorf("topmost = %q, want %q", got, c.want)
			}
		})
	}
	if w := topmost(known(made{"ReplicaSet", "a", 1, snapshot.Controller{}}), "other", by("ReplicaSet", "a", 1)); w != nil {
		t.Errorf("topmost = %q of another namespace", w.Name)
	}
}

// Owner references can be written by hand, so they may go round, or say of a workload
// that it is made by one that makes none. It must not be lost: a workload that no one
// sees is one that no one finds open.
func TestOwnersWrittenByHandLoseNobody(t *testing.T) {
	for _, c := range []struct {
		name  string
		there []made
		want  []string
	}{
		{"it controls itself", []made{{"ReplicaSet", "a", 1, by("ReplicaSet", "a", 1)}}, []string{"a"}},
		{"two control each other", []made{{"ReplicaSet", "a", 1, by("ReplicaSet", "b", 2)}, {"ReplicaSet", "b", 2, by("ReplicaSet", "a", 1)}}, []string{"a", "b"}},
		{"a Deployment says it is of a Job", []made{{"Deployment", "a", 1, by("Job", "b", 2)}, {"Job", "b", 2, snapshot.Controller{}}}, []string{"a", "b"}},
		{"a ReplicaSet says it is of another Deployment", []made{{"ReplicaSet", "a", 1, by("Deployment", "b", 3)}, {"Deployment", "b", 2, snapshot.Controller{}}}, []string{"a", "b"}},
		{"a ReplicaSet is of a Deployment", []made{{"ReplicaSet", "a", 1, by("Deployment", "b", 2)}, {"Deployment", "b", 2, snapshot.Controller{}}}, []string{"b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var facts snapshot.Facts
			for _, m := range c.there {
				facts.Workloads = append(facts.Workloads, m.fact())
			}
			if diff := cmp.Diff(c.want, namesOf(liveIn(facts))); diff != "" {
				t.Errorf("without pods (-want +got):\n%s", diff)
			}
			facts.Pods = []snapshot.Pod{{
				Meta: snapshot.Meta{Kind: "Pod", Namespace: "shop", Name: "pod"}, Controller: by("ReplicaSet", "a", 1),
			}}
			live := liveIn(facts)
			if !slices.ContainsFunc(live, func(w *Workload) bool { return len(w.Pods) == 1 && w.Pods[0].Labels.Len() == 0 }) {
				t.Errorf("the pod is with none of %q", namesOf(live))
			}
		})
	}
}

// A workload whose ReplicaSet or Job may still make pods is not gone because what is
// above it is held by a finalizer.
func TestWhatIsBeingDeletedHidesNothingBelowIt(t *testing.T) {
	var facts snapshot.Facts
	for _, m := range []made{{"ReplicaSet", "a", 1, by("Deployment", "b", 2)}, {"Deployment", "b", 2, snapshot.Controller{}}} {
		w := m.fact()
		if m.kind == "Deployment" {
			w.Deletion = &snapshot.Deletion{}
		}
		facts.Workloads = append(facts.Workloads, w)
	}
	if diff := cmp.Diff([]string{"a"}, namesOf(liveIn(facts))); diff != "" {
		t.Error(diff)
	}
}

// A pod excuses no other one: neither by the host's network, nor by standing for the
// template before it ever ran.
func TestPodsSpeakForThemselves(t *testing.T) {
	label := func(value string) snapshot.Labels { return snapshot.NewLabels(map[string]string{"app": value}) }
	pod := func(app string, host, pending bool) snapshot.Pod {
		return snapshot.Pod{
			Meta: snapshot.Meta{Kind: "Pod", Namespace: "shop", Name: app}, Labels: label(app),
			Controller: by("ReplicaSet", "a", 1), HostNetwork: host, Pending: pending,
		}
	}
	for _, c := range []struct {
		name         string
		templateHost bool
		pods         []snapshot.Pod
		want         []string // app of its pods
		host         bool
	}{
		{"a template", false, nil, []string{"template"}, false},
		{"a pod that runs", false, []snapshot.Pod{pod("one", false, false)}, []string{"one"}, false},
		{"a pod that never ran", false, []snapshot.Pod{pod("one", false, true)}, []string{"one", "template"}, false},
		{"one of the host's network that never ran", false, []snapshot.Pod{pod("one", true, true)}, []string{"template"}, true},
		{"one of the host's network that runs", false, []snapshot.Pod{pod("one", true, false)}, []string{"template"}, true},
		{"two, of which one is in the host's network", false, []snapshot.Pod{pod("one", true, false), pod("two", false, false)}, []string{"two"}, true},
		{"a template of the host's network", true, nil, nil, true},
		{"and a pod outside it", true, []snapshot.Pod{pod("one", false, false)}, []string{"one"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := made{"ReplicaSet", "a", 1, snapshot.Controller{}}.fact()
			w.PodLabels, w.HostNetwork = label("template"), c.templateHost
			live := liveIn(snapshot.Facts{Workloads: []snapshot.Workload{w}, Pods: c.pods})
			if len(live) != 1 {
				t.Fatalf("%q", namesOf(live))
			}
			var got []string
			for _, p := range live[0].Pods {
				app, _ := p.Labels.Get("app")
				got = append(got, app)
			}
			if !slices.Equal(got, c.want) || live[0].HostNetwork != c.host {
				t.Errorf("pods %q, host network %t; want %q, %t", got, live[0].HostNetwork, c.want, c.host)
			}
		})
	}
}

func liveIn(facts snapshot.Facts) []*Workload {
	var b snapshot.Builder
	b.Add(facts)
	return Live(b.Freeze().View(workloadKinds()...))["shop"]
}

func workloadKinds() []snapshot.Kind { return append(snapshot.WorkloadKinds(), snapshot.Pods) }

func namesOf(list []*Workload) []string {
	var out []string
	for _, w := range list {
		out = append(out, w.Meta.Name)
	}
	return out
}

package snapshot_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

func pod(namespace, name, state string) snapshot.Pod {
	return snapshot.Pod{
		Meta: snapshot.Meta{Kind: "Pod", Namespace: namespace, Name: name}, Labels: snapshot.NewLabels(map[string]string{"state": state}),
	}
}

func podNames(s *snapshot.Snapshot) []string {
	var out []string
	for p := range s.View(snapshot.Pods).Pods() {
		state, _ := p.Labels.Get("state")
		out = append(out, p.Namespace+"/"+p.Name+" "+state)
	}
	return out
}

func TestBuilderSorts(t *testing.T) {
	var b snapshot.Builder
	b.Add(snapshot.Facts{Pods: []snapshot.Pod{pod("b", "a", ""), pod("a", "b", "")}})
	b.Add(snapshot.Facts{Pods: []snapshot.Pod{pod("a", "a", ""), pod("", "z", "")}})
	if diff := cmp.Diff([]string{"/z ", "a/a ", "a/b ", "b/a "}, podNames(b.Freeze())); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

func TestBuilderKeepsTheLastOfWhatIsHandedOverTwice(t *testing.T) {
	var b snapshot.Builder
	b.Add(snapshot.Facts{Pods: []snapshot.Pod{pod("a", "x", "first"), pod("a", "y", "only"), pod("a", "x", "second")}})
	b.Add(snapshot.Facts{Pods: []snapshot.Pod{pod("a", "x", "third")}})
	if diff := cmp.Diff([]string{"a/x third", "a/y only"}, podNames(b.Freeze())); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

func TestBuilderTellsKindsAndGroupsApart(t *testing.T) {
	var b snapshot.Builder
	workload := func(group, kind string) snapshot.Workload {
		return snapshot.Workload{Meta: snapshot.Meta{Group: group, Kind: kind, Namespace: "a", Name: "web"}}
	}
	b.Add(snapshot.Facts{Workloads: []snapshot.Workload{
		workload("batch", "Job"), workload("apps", "StatefulSet"), workload("apps", "Deployment"), workload("old", "Deployment"),
		workload("apps", "Deployment"),
	}})
	var got []string
	for w := range b.Freeze().View(snapshot.WorkloadKinds()...).Workloads() {
		got = append(got, w.Kind+"."+w.Group)
	}
	if diff := cmp.Diff([]string{"Deployment.apps", "Deployment.old", "Job.batch", "StatefulSet.apps"}, got); diff != "" {
		t.Errorf("workloads (-want +got):\n%s", diff)
	}
}

func TestBuilderIsEmptyAfterFreeze(t *testing.T) {
	var b snapshot.Builder
	b.Add(snapshot.Facts{Pods: []snapshot.Pod{pod("a", "x", "")}}, snapshot.Read{Kind: snapshot.Pods, Status: snapshot.Listed})
	first := b.Freeze()
	second := b.Freeze()
	if len(podNames(first)) != 1 || len(podNames(second)) != 0 || len(second.Reads()) != 0 {
		t.Errorf("first has %q, second %q and reads %v", podNames(first), podNames(second), second.Reads())
	}
}

func TestBuilderServesSeveralGoroutines(t *testing.T) {
	var b snapshot.Builder
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			for j := range 50 {
				b.Add(snapshot.Facts{Pods: []snapshot.Pod{pod(fmt.Sprint(i), fmt.Sprint(j), "")}},
					snapshot.Read{Kind: snapshot.Kind(fmt.Sprint(i)), Status: snapshot.Listed})
			}
		})
	}
	running.Wait()
	s := b.Freeze()
	if names := podNames(s); len(names) != 400 || len(slices.Compact(names)) != 400 {
		t.Errorf("%d pods, want 400", len(names))
	}
	if len(s.Reads()) != 8 {
		t.Errorf("%d reads, want 8", len(s.Reads()))
	}
}

func TestReads(t *testing.T) {
	var b snapshot.Builder
	b.Add(snapshot.Facts{},
		snapshot.Read{Kind: snapshot.Pods, Status: snapshot.Forbidden, Err: "no"},
		snapshot.Read{Kind: snapshot.Jobs, Status: snapshot.Absent},
		snapshot.Read{Kind: snapshot.Deployments, Status: snapshot.Failed},
		snapshot.Read{Kind: snapshot.Namespaces, Status: snapshot.Failed},
	)
	b.Add(snapshot.Facts{}, snapshot.Read{Kind: snapshot.Namespaces, Status: snapshot.Listed, Items: 3})
	s := b.Freeze()
	var order []snapshot.Kind
	for _, r := range s.Reads() {
		order = append(order, r.Kind)
	}
	if diff := cmp.Diff([]snapshot.Kind{snapshot.Namespaces, snapshot.Pods, snapshot.Deployments, snapshot.Jobs}, order); diff != "" {
		t.Errorf("order of reads (-want +got):\n%s", diff)
	}
	for kind, want := range map[snapshot.Kind]snapshot.Status{
		snapshot.Namespaces: snapshot.Listed, // read again, and then to the end
		snapshot.Pods:       snapshot.Forbidden,
		snapshot.Jobs:       snapshot.Absent,
		snapshot.CronJobs:   snapshot.Failed, // never asked for
	} {
		if got := s.Status(kind); got != want {
			t.Errorf("status of %s is %s, want %s", kind, got, want)
		}
	}
	for status, want := range map[snapshot.Status]bool{
		snapshot.Listed: true, snapshot.Absent: true, snapshot.Forbidden: false, snapshot.Failed: false, "": false,
	} {
		if status.Known() != want {
			t.Errorf("status %q is known: %v", status, !want)
		}
	}
}

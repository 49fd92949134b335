package ingest_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestNamespace(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "shop", UID: "1", Labels: map[string]string{"team": "team-a"}}
	deleted := meta
	deleted.DeletionTimestamp = new(metav1.NewTime(born))
	held := deleted
	held.Finalizers = []string{"example.com/keep"}
	left := func(kind corev1.NamespaceConditionType, status corev1.ConditionStatus, message string) corev1.NamespaceCondition {
		return corev1.NamespaceCondition{Type: kind, Status: status, Message: message}
	}
	fact := func(deletion *snapshot.Deletion) snapshot.Namespace {
		return snapshot.Namespace{
			Meta: snapshot.Meta{
				Kind: "Namespace", Name: "shop", Deletion: deletion,
				Owner: snapshot.OwnerKey{Value: "team-a", Key: "team"},
			},
			Labels: labels("team", "team-a"),
		}
	}
	for _, c := range []struct {
		name   string
		object corev1.Namespace
		want   snapshot.Namespace
	}{
		{
			name:   "a Namespace without labels and phase",
			object: corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
			want:   snapshot.Namespace{Meta: snapshot.Meta{Kind: "Namespace", Name: "shop"}},
		}, {
			name:   "an active Namespace keeps its labels",
			object: corev1.Namespace{ObjectMeta: meta, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}},
			want:   fact(nil),
		}, {
			name:   "a Namespace in phase Terminating is terminating",
			object: corev1.Namespace{ObjectMeta: meta, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating}},
			want:   fact(&snapshot.Deletion{}),
		}, {
			name:   "a Namespace that was deleted is terminating, whatever its phase says",
			object: corev1.Namespace{ObjectMeta: deleted, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}},
			want:   fact(&snapshot.Deletion{At: born.UTC()}),
		}, {
			name:   "a Namespace has a finalizer of its own",
			object: corev1.Namespace{ObjectMeta: held},
			want:   fact(&snapshot.Deletion{At: born.UTC(), Held: "finalizer example.com/keep"}),
		}, {
			name: "the namespace controller says what holds a Namespace",
			object: corev1.Namespace{ObjectMeta: deleted, Status: corev1.NamespaceStatus{Conditions: []corev1.NamespaceCondition{
				left(corev1.NamespaceDeletionContentFailure, corev1.ConditionFalse, "All content successfully deleted"),
				left(corev1.NamespaceContentRemaining, corev1.ConditionTrue, "Some resources are remaining: ingresses.networking.k8s.io has 1 resource instances"),
				left(corev1.NamespaceFinalizersRemaining, corev1.ConditionTrue, "Some content has finalizers remaining: example.com/keep in 1 resource instances"),
			}}},
			want: fact(&snapshot.Deletion{At: born.UTC(), Held: `"Some content has finalizers remaining: example.com/keep in 1 resource instances"`}),
		}, {
			name: "a condition that no longer holds says nothing",
			object: corev1.Namespace{ObjectMeta: deleted, Status: corev1.NamespaceStatus{Conditions: []corev1.NamespaceCondition{
				left(corev1.NamespaceFinalizersRemaining, corev1.ConditionFalse, "All content-preserving finalizers finished"),
			}}},
			want: fact(&snapshot.Deletion{At: born.UTC()}),
		},
	} {
		t.Run(c.name, func(t *testing.T) { same(t, c.want, newIngester().Namespace(&c.object)) })
	}
}

func TestNamespaceKeepsItsChannelAndShortAnnotations(t *testing.T) {
	for _, c := range []struct{ says, key, value, want string }{
		{"the one that may name a channel, trimmed", "example.com/channel", " team-a\n", "team-a"},
		{"none where none may", "", "team-a", ""},
		{"not another one", "example.com/other", "team-a", ""},
		{"of one that is far too long no more than shows it", "example.com/channel", strings.Repeat("\u00e9", 1000), strings.Repeat("\u00e9", 200)},
		{"of one that is cut within a letter no half of it", "example.com/channel", "a" + strings.Repeat("\u00e9", 1000), "a" + strings.Repeat("\u00e9", 199)},
	} {
		o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: "shop", Annotations: map[string]string{"example.com/channel": c.value, "note": "long"},
		}}
		short := map[string]string{}
		if len(c.value) <= 128 {
			short["example.com/channel"] = c.value
		}
		want := snapshot.Namespace{
			Meta: snapshot.Meta{Kind: "Namespace", Name: "shop"}, Channel: c.want, Annotations: snapshot.NewLabels(short),
		}
		t.Run(c.says, func(t *testing.T) { same(t, want, newIngester().KeepChannel(c.key).Namespace(o)) })
	}
}

func TestPod(t *testing.T) {
	in := newIngester()
	full := &corev1.Pod{ObjectMeta: fullMeta(), Spec: corev1.PodSpec{HostNetwork: true}}
	full.Status.Phase = corev1.PodRunning
	same(t, snapshot.Pod{
		Meta:        wantMeta("", "Pod"),
		Controller:  wantController,
		Labels:      labels("app", "web", "owner", "team-a"),
		HostNetwork: true,
	}, in.Pod(full))
	same(t, snapshot.Pod{Meta: bareMeta("", "Pod"), Pending: true}, in.Pod(&corev1.Pod{ObjectMeta: named()}))
}

func TestPodIsFinishedWhenItsNetworkIsGone(t *testing.T) {
	for _, c := range []struct {
		phase corev1.PodPhase
		want  bool
	}{
		{"", false},
		{corev1.PodPending, false},
		{corev1.PodRunning, false},
		{corev1.PodUnknown, false},
		{corev1.PodSucceeded, true},
		{corev1.PodFailed, true},
	} {
		t.Run("phase "+string(c.phase), func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: named(), Status: corev1.PodStatus{Phase: c.phase}}
			got := newIngester().Pod(pod)
			if got.Finished != c.want || got.Pending != (c.phase == "" || c.phase == corev1.PodPending) {
				t.Errorf("finished: %t, pending: %t", got.Finished, got.Pending)
			}
		})
	}
}

func TestPodThatIsBeingDeletedStillHasItsNetwork(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: fullMeta(), Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	if got := newIngester().Pod(pod); !got.Deleting() || got.Finished {
		t.Errorf("deleting: %t, finished: %t", got.Deleting(), got.Finished)
	}
}

// workloadKind makes objects of one kind and their facts.
type workloadKind struct {
	group, kind string
	fact        func(*ingest.Ingester, metav1.ObjectMeta, corev1.PodTemplateSpec) snapshot.Workload
}

func workloadKinds() []workloadKind {
	type (
		meta     = metav1.ObjectMeta
		template = corev1.PodTemplateSpec
	)
	return []workloadKind{
		{"apps", "Deployment", func(in *ingest.Ingester, m meta, t template) snapshot.Workload {
			return in.Deployment(&appsv1.Deployment{ObjectMeta: m, Spec: appsv1.DeploymentSpec{Template: t}})
		}},
		{"apps", "ReplicaSet", func(in *ingest.Ingester, m meta, t template) snapshot.Workload {
			return in.ReplicaSet(&appsv1.ReplicaSet{ObjectMeta: m, Spec: appsv1.ReplicaSetSpec{Template: t}})
		}},
		{"apps", "StatefulSet", func(in *ingest.Ingester, m meta, t template) snapshot.Workload {
			return in.StatefulSet(&appsv1.StatefulSet{ObjectMeta: m, Spec: appsv1.StatefulSetSpec{Template: t}})
		}},
		{"apps", "DaemonSet", func(in *ingest.Ingester, m meta, t template) snapshot.Workload {
			return in.DaemonSet(&appsv1.DaemonSet{ObjectMeta: m, Spec: appsv1.DaemonSetSpec{Template: t}})
		}},
		{"batch", "Job", func(in *ingest.Ingester, m meta, t template) snapshot.Workload {
			return in.Job(&batchv1.Job{ObjectMeta: m, Spec: batchv1.JobSpec{Template: t}})
		}},
		{"batch", "CronJob", func(in *ingest.Ingester, m meta, t template) snapshot.Workload {
			spec := batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{
				ObjectMeta: meta{Labels: map[string]string{"of": "the job"}}, Spec: batchv1.JobSpec{Template: t},
			}}
			return in.CronJob(&batchv1.CronJob{ObjectMeta: m, Spec: spec})
		}},
		{"", "ReplicationController", func(in *ingest.Ingester, m meta, t template) snapshot.Workload {
			return in.ReplicationController(&corev1.ReplicationController{
				ObjectMeta: m, Spec: corev1.ReplicationControllerSpec{Template: &t},
			})
		}},
	}
}

func TestWorkloadKeepsTheLabelsOfItsPodsAndNotItsOwn(t *testing.T) {
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "pods", "tier": "web"}},
		Spec:       corev1.PodSpec{HostNetwork: true},
	}
	for _, k := range workloadKinds() {
		t.Run(k.kind, func(t *testing.T) {
			want := snapshot.Workload{
				Meta:        wantMeta(k.group, k.kind),
				Identity:    snapshot.UIDOf("1111-2222"),
				Controller:  wantController,
				PodLabels:   labels("app", "pods", "tier", "web"),
				HostNetwork: true,
			}
			if k.kind == "Job" {
				want.UID = "1111-2222"
			}
			same(t, want, k.fact(newIngester(), fullMeta(), template))
		})
	}
}

func TestWorkloadWithNothingButAName(t *testing.T) {
	for _, k := range workloadKinds() {
		t.Run(k.kind, func(t *testing.T) {
			want := snapshot.Workload{Meta: bareMeta(k.group, k.kind)}
			same(t, want, k.fact(newIngester(), named(), corev1.PodTemplateSpec{}))
		})
	}
}

func TestReplicationControllerWithoutTemplate(t *testing.T) {
	got := newIngester().ReplicationController(&corev1.ReplicationController{ObjectMeta: named()})
	same(t, snapshot.Workload{Meta: bareMeta("", "ReplicationController")}, got)
}

func TestJobIsFinishedByItsConditions(t *testing.T) {
	condition := func(of batchv1.JobConditionType, status corev1.ConditionStatus) batchv1.JobCondition {
		return batchv1.JobCondition{Type: of, Status: status}
	}
	for _, c := range []struct {
		name       string
		conditions []batchv1.JobCondition
		want       bool
	}{
		{"a Job without conditions still makes pods", nil, false},
		{"a Job that completed makes no more", []batchv1.JobCondition{condition(batchv1.JobComplete, corev1.ConditionTrue)}, true},
		{"a Job that failed makes no more", []batchv1.JobCondition{condition(batchv1.JobFailed, corev1.ConditionTrue)}, true},
		{"a condition that is false ends nothing", []batchv1.JobCondition{condition(batchv1.JobComplete, corev1.ConditionFalse)}, false},
		{"a condition that is unknown ends nothing", []batchv1.JobCondition{condition(batchv1.JobFailed, corev1.ConditionUnknown)}, false},
		{"a suspended Job may go on", []batchv1.JobCondition{condition(batchv1.JobSuspended, corev1.ConditionTrue)}, false},
		{"a Job about to fail still has pods", []batchv1.JobCondition{condition(batchv1.JobFailureTarget, corev1.ConditionTrue)}, false},
		{"the condition that ends it may stand anywhere", []batchv1.JobCondition{
			condition(batchv1.JobSuspended, corev1.ConditionFalse), condition(batchv1.JobFailed, corev1.ConditionTrue),
			condition(batchv1.JobFailureTarget, corev1.ConditionTrue),
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := &batchv1.Job{ObjectMeta: named(), Status: batchv1.JobStatus{Conditions: c.conditions}}
			if got := newIngester().Job(job).Finished; got != c.want {
				t.Errorf("finished: %t", got)
			}
		})
	}
}

package ingest_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestNamespace(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "shop", UID: "1", Labels: map[string]string{"team": "team-a"}}
	deleted := meta
	deleted.DeletionTimestamp = new(metav1.NewTime(born))
	fact := func(deleting, terminating bool) snapshot.Namespace {
		return snapshot.Namespace{
			Meta: snapshot.Meta{
				Kind: "Namespace", Name: "shop", Deleting: deleting,
				Owner: snapshot.OwnerKey{Value: "team-a", Key: "team"},
			},
			Labels:      labels("team", "team-a"),
			Terminating: terminating,
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
			want:   fact(false, false),
		}, {
			name:   "a Namespace in phase Terminating is terminating",
			object: corev1.Namespace{ObjectMeta: meta, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating}},
			want:   fact(false, true),
		}, {
			name:   "a Namespace that was deleted is terminating, whatever its phase says",
			object: corev1.Namespace{ObjectMeta: deleted, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}},
			want:   fact(true, true),
		},
	} {
		t.Run(c.name, func(t *testing.T) { same(t, c.want, newIngester().Namespace(&c.object)) })
	}
}

func TestNamespaceKeepsOneAnnotation(t *testing.T) {
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
		want := snapshot.Namespace{Meta: snapshot.Meta{Kind: "Namespace", Name: "shop"}, Channel: c.want}
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
	same(t, snapshot.Pod{Meta: bareMeta("", "Pod")}, in.Pod(&corev1.Pod{ObjectMeta: named()}))
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
			if got := newIngester().Pod(pod).Finished; got != c.want {
				t.Errorf("finished: %t", got)
			}
		})
	}
}

func TestPodThatIsBeingDeletedStillHasItsNetwork(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: fullMeta(), Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	if got := newIngester().Pod(pod); !got.Deleting || got.Finished {
		t.Errorf("deleting: %t, finished: %t", got.Deleting, got.Finished)
	}
}

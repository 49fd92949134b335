package ingest_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestOwnerKey(t *testing.T) {
	type m = map[string]string
	for _, c := range []struct {
		name                string
		labels, annotations m
		want                snapshot.OwnerKey
	}{
		{
			name: "an object without labels and annotations names nobody",
		}, {
			name:   "a label names the owner",
			labels: m{"owner": "team-a"},
			want:   snapshot.OwnerKey{Value: "team-a", Key: "owner"},
		}, {
			name:        "an annotation names the owner",
			annotations: m{"team": "team-a"},
			want:        snapshot.OwnerKey{Value: "team-a", Key: "team", Annotation: true},
		}, {
			name:        "of one key the label counts",
			labels:      m{"owner": "team-a"},
			annotations: m{"owner": "team-b"},
			want:        snapshot.OwnerKey{Value: "team-a", Key: "owner"},
		}, {
			name:        "the earlier key counts, though it is an annotation and the later a label",
			labels:      m{"team": "team-b"},
			annotations: m{"owner": "team-a"},
			want:        snapshot.OwnerKey{Value: "team-a", Key: "owner", Annotation: true},
		}, {
			name:        "an empty value names nobody",
			labels:      m{"owner": ""},
			annotations: m{"owner": "", "team": "team-a"},
			want:        snapshot.OwnerKey{Value: "team-a", Key: "team", Annotation: true},
		}, {
			name:        "a blank value names nobody",
			annotations: m{"owner": " \t\n\u00a0"},
		}, {
			name:        "blanks around the value are no part of it",
			annotations: m{"owner": "\n team a \n"},
			want:        snapshot.OwnerKey{Value: "team a", Key: "owner", Annotation: true},
		}, {
			name:   "another key names nobody, and neither does another case",
			labels: m{"a8r.io/owner": "team-a", "Owner": "team-b"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Labels: c.labels, Annotations: c.annotations}}
			same(t, c.want, newIngester().Namespace(o).Owner)
		})
	}
}

func TestOwnerKeysBelongToTheIngester(t *testing.T) {
	keys := []string{"owner"}
	in := ingest.New(keys)
	keys[0] = "team"
	o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"owner": "team-a", "team": "team-b"}}}
	same(t, snapshot.OwnerKey{Value: "team-a", Key: "owner"}, in.Namespace(o).Owner)
}

func TestController(t *testing.T) {
	for _, c := range []struct {
		name string
		refs []metav1.OwnerReference
		want snapshot.Controller
	}{
		{
			name: "an object without owner references is controlled by nothing",
		}, {
			name: "an owner reference without the controller flag controls nothing",
			refs: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web"}},
		}, {
			name: "an owner reference whose flag is false controls nothing",
			refs: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: new(false)}},
		}, {
			name: "the reference with the flag counts, wherever it stands",
			refs: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "Node", Name: "n1"},
				{APIVersion: "batch/v1", Kind: "Job", Name: "nightly", Controller: new(true)},
			},
			want: snapshot.Controller{Group: "batch", Kind: "Job", Name: "nightly"},
		}, {
			name: "a controller of the core group has no group",
			refs: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ReplicationController", Name: "web", Controller: new(true)}},
			want: snapshot.Controller{Kind: "ReplicationController", Name: "web"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: c.refs}}
			same(t, c.want, newIngester().Pod(o).Controller)
		})
	}
}

func TestCreationThatIsNotToldIsZero(t *testing.T) {
	if created := newIngester().Pod(&corev1.Pod{}).Created; !created.IsZero() {
		t.Errorf("got %s of a pod that tells none", created)
	}
}

func TestCreationIsInUTC(t *testing.T) {
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(born)}}
	if created := newIngester().Pod(o).Created; created.Location() != time.UTC || !created.Equal(born) {
		t.Errorf("got %s, want %s in UTC", created, born)
	}
}

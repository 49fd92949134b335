package ingest_test

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func newIngester() *ingest.Ingester { return ingest.New([]string{"owner", "team"}) }

// same fails the test unless two facts are the same.
func same[F any](t *testing.T, want, got F) {
	t.Helper()
	prefixes := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
	if diff := cmp.Diff(want, got, prefixes, cmp.AllowUnexported(snapshot.Labels{})); diff != "" {
		t.Errorf("fact (-want +got):\n%s", diff)
	}
}

// born is a moment as an API server writes it, in a zone of its own.
var born = time.Date(2027, 1, 15, 12, 0, 0, 0, time.FixedZone("", 3600))

// fullMeta is the metadata of an object that has all of it.
func fullMeta() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:         "shop",
		Name:              "web",
		UID:               "1111-2222",
		ResourceVersion:   "7",
		CreationTimestamp: metav1.NewTime(born),
		DeletionTimestamp: new(metav1.NewTime(born.Add(time.Hour))),
		Labels:            map[string]string{"app": "web", "owner": "team-a"},
		Annotations:       map[string]string{"owner": "team-b"},
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "ConfigMap", Name: "bystander"},
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-5", Controller: new(true)},
		},
	}
}

// wantMeta is the fact of fullMeta.
func wantMeta(group, kind string) snapshot.Meta {
	return snapshot.Meta{
		Group: group, Kind: kind, Namespace: "shop", Name: "web",
		Created: time.Date(2027, 1, 15, 11, 0, 0, 0, time.UTC), Deleting: true,
		Owner: snapshot.OwnerKey{Value: "team-a", Key: "owner"},
	}
}

// wantController is the controller of fullMeta.
var wantController = snapshot.Controller{Group: "apps", Kind: "ReplicaSet", Name: "web-5"}

// named is the metadata of an object that has next to none.
func named() metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shop", Name: "web"} }

// bareMeta is the fact of named.
func bareMeta(group, kind string) snapshot.Meta {
	return snapshot.Meta{Group: group, Kind: kind, Namespace: "shop", Name: "web"}
}

func labels(pairs ...string) snapshot.Labels { return snapshot.Labels{}.With(pairs...) }

// take takes in an object of a custom kind, written in YAML.
func take(t *testing.T, kind snapshot.Kind, manifest string) snapshot.Facts {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	all := ingest.Customs()
	i := slices.IndexFunc(all, func(c ingest.Custom) bool { return c.Kind == kind })
	if i < 0 {
		t.Fatalf("no custom kind %s", kind)
	}
	var facts snapshot.Facts
	if err := all[i].Take(ingest.New(nil), data, &facts); err != nil && !errors.Is(err, ingest.ErrOther) {
		t.Fatal(err)
	}
	return facts
}

package ingest_test

import (
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/e2e/bench/estate"
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
			name: "an object without labels and annotations names no owner",
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
			name:        "an empty value names no owner",
			labels:      m{"owner": ""},
			annotations: m{"owner": "", "team": "team-a"},
			want:        snapshot.OwnerKey{Value: "team-a", Key: "team", Annotation: true},
		}, {
			name:        "a blank value names no owner",
			annotations: m{"owner": " \t\n\u00a0"},
		}, {
			name:        "blanks around the value are no part of it",
			annotations: m{"owner": "\n team a \n"},
			want:        snapshot.OwnerKey{Value: "team a", Key: "owner", Annotation: true},
		}, {
			name:   "another key names no owner, and neither does another case",
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
				{APIVersion: "batch/v1", Kind: "Job", Name: "nightly", UID: "1-2-3", Controller: new(true)},
			},
			want: snapshot.Controller{Group: "batch", Kind: "Job", Name: "nightly", UID: snapshot.UIDOf("1-2-3")},
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
		t.Errorf("got %s of a pod without one", created)
	}
}

func TestCreationIsInUTC(t *testing.T) {
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(born)}}
	if created := newIngester().Pod(o).Created; created.Location() != time.UTC || !created.Equal(born) {
		t.Errorf("got %s, want %s in UTC", created, born)
	}
}

// One Ingester keeps equal label sets once. Those that only look alike must stay
// different.
func TestLabelSetsThatLookAlikeAreNotMixed(t *testing.T) {
	type m = map[string]string
	in := newIngester()
	for _, c := range []struct {
		name   string
		labels m
	}{
		{"two labels", m{"a": "b", "c": "d"}},
		{"the same keys with their values swapped", m{"a": "d", "c": "b"}},
		{"keys and values swapped", m{"b": "a", "d": "c"}},
		{"one label whose value holds the rest", m{"a": "b c d"}},
		{"one label whose key holds the rest", m{"a b c": "d"}},
		{"only the first", m{"a": "b"}},
		{"an empty value", m{"a": ""}},
		{"an empty key", m{"": "a"}},
		{"two empty values", m{"a": "", "b": ""}},
		{"no label", m{}},
		{"two labels, seen for the second time", m{"c": "d", "a": "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := in.Pod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: c.labels}}).Labels
			if got.Len() != len(c.labels) {
				t.Errorf("got %d labels of %v", got.Len(), c.labels)
			}
			for key, want := range c.labels {
				if value, ok := got.Get(key); !ok || value != want {
					t.Errorf("label %q is %q, %t; want %q", key, value, ok, want)
				}
			}
		})
	}
}

// The pods of a workload share their labels, and there may be many of them.
func TestEqualLabelSetsAreKeptOnce(t *testing.T) {
	in := newIngester()
	value := func() *byte {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": strings.Clone("web")}}}
		kept, _ := in.Pod(pod).Labels.Get("app")
		return unsafe.StringData(kept)
	}
	if first, second := value(), value(); first != second {
		t.Error("two pods with equal labels keep them twice")
	}
}

// A page of objects is dropped after its facts are made. A fact that referred to one of
// their maps or slices would keep the page, and change with it.
func TestFactHoldsNothingOfItsObject(t *testing.T) {
	template := corev1.PodTemplateSpec{ObjectMeta: fullMeta()}
	class := &networkingv1.IngressClass{ObjectMeta: fullMeta()}
	class.Spec.Controller = "k8s.io/ingress-nginx"
	for _, o := range []runtime.Object{
		&corev1.Namespace{ObjectMeta: fullMeta()},
		&corev1.Pod{ObjectMeta: fullMeta()},
		&corev1.ReplicationController{ObjectMeta: fullMeta(), Spec: corev1.ReplicationControllerSpec{Template: &template}},
		&appsv1.Deployment{ObjectMeta: fullMeta(), Spec: appsv1.DeploymentSpec{Template: *template.DeepCopy()}},
		fullIngress(),
		class,
		fullPolicy(),
	} {
		t.Run(reflect.TypeOf(o).Elem().Name(), func(t *testing.T) {
			want := factOf(t, o.DeepCopyObject())
			got := factOf(t, o)
			scribble(reflect.ValueOf(o))
			same(t, want, got)
		})
	}
}

func factOf(t *testing.T, o runtime.Object) any {
	t.Helper()
	in := ingest.New([]string{"owner"})
	switch o := o.(type) {
	case *corev1.Namespace:
		return in.Namespace(o)
	case *corev1.Pod:
		return in.Pod(o)
	case *corev1.ReplicationController:
		return in.ReplicationController(o)
	case *appsv1.Deployment:
		return in.Deployment(o)
	case *networkingv1.Ingress:
		return in.Ingress(o)
	case *networkingv1.IngressClass:
		return in.IngressClass(o)
	case *networkingv1.NetworkPolicy:
		return in.NetworkPolicy(o)
	}
	t.Fatalf("no fact of %T", o)
	return nil
}

// scribble overwrites everything that can be reached from a value: the entries
// of its maps, the elements of its slices and what its pointers point to.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			scribble(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				scribble(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			scribble(v.Index(i))
			v.Index(i).SetZero()
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			v.SetMapIndex(key, reflect.Zero(v.Type().Elem()))
		}
	default:
		if v.CanSet() {
			v.SetZero()
		}
	}
}

// BenchmarkIngest turns one decoded object into a fact.
func BenchmarkIngest(b *testing.B) {
	for _, c := range makers() {
		b.Run(c.kind, func(b *testing.B) {
			in, next := newIngester(), 0
			fact := c.objects(1000)
			b.ReportAllocs()
			for b.Loop() {
				fact(in, next%1000)
				next++
			}
		})
	}
}

// Each object of a page costs at most this many allocations, because what it shares with
// other objects is kept once.
func TestAllocationsOfAFact(t *testing.T) {
	for _, c := range makers() {
		t.Run(c.kind, func(t *testing.T) {
			const objects = 500
			fact := c.objects(objects)
			all := testing.AllocsPerRun(3, func() {
				in := newIngester()
				for i := range objects {
					fact(in, i)
				}
			})
			each := all / objects
			t.Logf("%.2f allocations for each object", each)
			if each > c.most {
				t.Errorf("%.2f allocations for each object, want at most %.1f", each, c.most)
			}
		})
	}
}

// maker makes facts of one kind.
type maker struct {
	kind string
	// objects returns what makes the fact of one of n objects.
	objects func(n int) func(*ingest.Ingester, int)
	most    float64 // allocations for one
}

func makers() []maker {
	size := estate.Large()
	born := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	return []maker{
		{"Namespace", made(born, size.Namespace, (*ingest.Ingester).Namespace), 2.5},
		{"Ingress", made(born, size.Ingress, (*ingest.Ingester).Ingress), 2.5},
		{"Deployment", made(born, size.Deployment, (*ingest.Ingester).Deployment), 4.5},
		{"Pod", made(born, size.Pod, (*ingest.Ingester).Pod), 3},
		{"NetworkPolicy", made(born, size.Policy, (*ingest.Ingester).NetworkPolicy), 12},
	}
}

// made returns what makes n objects beforehand, and then the fact of one of them.
func made[O any, P interface {
	*O
	metav1.Object
}, F any](born time.Time, object func(int) P, fact func(*ingest.Ingester, P) F) func(int) func(*ingest.Ingester, int) {
	return func(n int) func(*ingest.Ingester, int) {
		objects := make([]P, n)
		for i := range objects {
			objects[i] = object(i)
			estate.Stamp(objects[i], i, born)
		}
		return func(in *ingest.Ingester, i int) { fact(in, objects[i]) }
	}
}

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

// wantDeletion is the deletion of fullMeta.
func wantDeletion() *snapshot.Deletion {
	return &snapshot.Deletion{At: time.Date(2027, 1, 15, 12, 0, 0, 0, time.UTC)}
}

// wantMeta is the fact of fullMeta.
func wantMeta(group, kind string) snapshot.Meta {
	return snapshot.Meta{
		Group: group, Kind: kind, Namespace: "shop", Name: "web",
		Created: time.Date(2027, 1, 15, 11, 0, 0, 0, time.UTC), Deletion: wantDeletion(),
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

// take ingests an object of a custom kind, written in YAML.
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

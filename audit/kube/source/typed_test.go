package source_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/meta"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// typedKinds are the kinds that are read in protobuf, and the types of their lists.
var typedKinds = map[snapshot.Kind]schema.GroupVersionKind{
	snapshot.Namespaces:             {Version: "v1", Kind: "NamespaceList"},
	snapshot.Pods:                   {Version: "v1", Kind: "PodList"},
	snapshot.ReplicationControllers: {Version: "v1", Kind: "ReplicationControllerList"},
	snapshot.DaemonSets:             {Group: "apps", Version: "v1", Kind: "DaemonSetList"},
	snapshot.Deployments:            {Group: "apps", Version: "v1", Kind: "DeploymentList"},
	snapshot.ReplicaSets:            {Group: "apps", Version: "v1", Kind: "ReplicaSetList"},
	snapshot.StatefulSets:           {Group: "apps", Version: "v1", Kind: "StatefulSetList"},
	snapshot.CronJobs:               {Group: "batch", Version: "v1", Kind: "CronJobList"},
	snapshot.Jobs:                   {Group: "batch", Version: "v1", Kind: "JobList"},
	snapshot.IngressClasses:         {Group: "networking.k8s.io", Version: "v1", Kind: "IngressClassList"},
	snapshot.Ingresses:              {Group: "networking.k8s.io", Version: "v1", Kind: "IngressList"},
	snapshot.NetworkPolicies:        {Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicyList"},
	snapshot.ValidatingWebhooks:     {Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfigurationList"},
	snapshot.ValidatingPolicies:     {Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicyList"},
	snapshot.ValidatingBindings:     {Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicyBindingList"},
}

// From protobuf only the fields that facts need are decoded, from JSON all.
// If one were missing, the two facts of an object would differ.
func TestFactsNeedOnlyTheDecodedFields(t *testing.T) {
	for kind, list := range typedKinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			for seed := range int64(20) {
				objects := randomList(t, list, seed)
				lean := readAs(t, kind, encode(t, objects, runtime.ContentTypeProtobuf))
				whole := readAs(t, kind, encode(t, objects, runtime.ContentTypeJSON))
				if status := lean.Status(kind); status != snapshot.Listed {
					t.Fatalf("seed %d: %s: %v", seed, status, lean.Reads())
				}
				if diff := cmp.Diff(whole, lean, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
					t.Fatalf("seed %d: facts of whole objects (-) and of those fields (+):\n%s", seed, diff)
				}
			}
		})
	}
}

// randomList returns a list of objects with many of their fields filled.
func randomList(t *testing.T, kind schema.GroupVersionKind, seed int64) runtime.Object {
	t.Helper()
	fill := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, alike), rand.NewSource(seed), scheme.Codecs).
		NilChance(0.2).NumElements(1, 3)
	var objects []runtime.Object
	for i := range 4 {
		o := newObject(t, kind.GroupVersion().WithKind(strings.TrimSuffix(kind.Kind, "List")))
		fill.Fill(o)
		o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		matter(t, o, i)
		objects = append(objects, o)
	}
	list := newObject(t, kind)
	if err := meta.SetList(list, objects); err != nil {
		t.Fatal(err)
	}
	whole, err := meta.ListAccessor(list)
	if err != nil {
		t.Fatal(err)
	}
	whole.SetResourceVersion("7")
	return list
}

func newObject(t *testing.T, kind schema.GroupVersionKind) runtime.Object {
	t.Helper()
	o, err := scheme.Scheme.New(kind)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// matter sets fields that facts look at and that random values would not hit.
func matter(t *testing.T, o runtime.Object, i int) {
	t.Helper()
	m, err := meta.Accessor(o)
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	m.SetName(fmt.Sprintf("o%d", i))
	m.SetGeneration(int64(1 + i%2))
	m.SetLabels(map[string]string{[]string{"team", "squad"}[i/2]: "a", "app": m.GetName()})
	m.SetAnnotations(map[string]string{
		"owner": "b", "nginx.ingress.kubernetes.io/server-alias": "alias.example.com",
		"ingressclass.kubernetes.io/is-default-class": "true",
	})
	m.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "up", Controller: &yes}})
	at := metav1.Unix(1_800_000_000+int64(i), 0)
	m.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, Time: &at, FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:nginx.ingress.kubernetes.io/server-alias":{}}},"f:spec":{"f:rules":{}}}`),
	}})
	m.SetDeletionTimestamp([]*metav1.Time{nil, nil, nil, &at}[i])
	m.SetFinalizers([]string{"example.com/keep"})
	switch o := o.(type) {
	case *corev1.Pod:
		o.Status.Phase = []corev1.PodPhase{corev1.PodRunning, corev1.PodSucceeded}[i%2]
	case *corev1.Namespace:
		o.Status.Phase = []corev1.NamespacePhase{corev1.NamespaceActive, corev1.NamespaceTerminating}[i%2]
		o.Status.Conditions = []corev1.NamespaceCondition{{
			Type: corev1.NamespaceFinalizersRemaining, Status: corev1.ConditionTrue, Message: "example.com/keep in 1 resource instances",
		}}[:i/2]
	case *batchv1.Job:
		o.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}[:i%2]
	}
}

// alike fills fields in which JSON and protobuf would otherwise differ.
func alike(serializer.CodecFactory) []any {
	return []any{
		func(r *runtime.RawExtension, _ randfill.Continue) { r.Raw = []byte(`{}`) },
		// API servers set both of these fields.
		func(s *corev1.PodSpec, c randfill.Continue) {
			c.FillNoCustom(s)
			s.DeprecatedServiceAccount = s.ServiceAccountName
		},
	}
}

func encode(t testing.TB, list runtime.Object, mediaType string) []byte {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
	if !ok {
		t.Fatalf("nothing writes %s", mediaType)
	}
	gvks, _, err := scheme.Scheme.ObjectKinds(list)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	encoder := scheme.Codecs.EncoderForVersion(info.Serializer, gvks[0].GroupVersion())
	if err := encoder.Encode(list, &buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// readAs reads a kind from a server that responds to every request with the body.
func readAs(t *testing.T, kind snapshot.Kind, body []byte) *snapshot.Snapshot {
	t.Helper()
	cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
	return read(t, newSource(t, cfg, source.Options{OwnerKeys: []string{"team", "owner"}}), []snapshot.Kind{kind})
}

// An object that is malformed is a fault of its own, named as far as it can be read.
func TestMalformedObjectIsAFault(t *testing.T) {
	for _, c := range []struct{ object, want string }{
		{"\x0a\x01\xff", "Ingress (unnamed 1)"},
		{"\x0a\x0b\x0a\x03bad\x1a\x04shop\x12\x01\xff", "Ingress shop/bad"},
	} {
		item := append([]byte{0x12, byte(len(c.object))}, c.object...)
		list := append([]byte("\x0a\x03\x12\x017"), item...)
		s := readAs(t, snapshot.Ingresses, append([]byte("k8s\x00\x12"+string(rune(len(list)))), list...))
		if r := s.Reads(); len(r) != 1 || r[0].Status != snapshot.Listed || r[0].Items != 1 {
			t.Errorf("reads %+v", r)
		}
		if f := s.Faults(); len(f) != 1 || f[0].String() != c.want || !strings.Contains(f[0].Reason, "decode Ingress") {
			t.Errorf("faults %+v, want one of %s", f, c.want)
		}
	}
}

func TestMalformedProtobufFailsAKind(t *testing.T) {
	whole := encode(t, randomList(t, typedKinds[snapshot.Ingresses], 1), runtime.ContentTypeProtobuf)
	for _, c := range []struct {
		name string
		body []byte
		want string
	}{
		{"nothing behind the magic", whole[:4], "no resource version"},
		{"an envelope that is cut off", whole[:len(whole)/2], "malformed"},
		{"no envelope", append([]byte("k8s\x00"), bytes.Repeat([]byte{0xff}, 40)...), "malformed"},
		{"another kind of list", encode(t, randomList(t, typedKinds[snapshot.Pods], 1), runtime.ContentTypeProtobuf), `"PodList", not a "IngressList"`},
		{"an object", []byte("k8s\x00\x0a\x05\x12\x03Pod"), `"Pod", not a list`},
		{"the continue token as a number", []byte("k8s\x00\x12\x09\x0a\x05\x12\x017\x18\x01\x12\x00"), "malformed"},
		{"an object as a number", []byte("k8s\x00\x12\x07\x0a\x03\x12\x017\x10\x01"), "malformed"},
		{"a number without end", append([]byte("k8s\x00\x12"), bytes.Repeat([]byte{0x80}, 11)...), "malformed"},
		{"two lists", append(slices.Clone(whole), whole[4:]...), "malformed"},
		{"an encoding that was not requested", []byte("k8s\x00\x1a\x04gzip"), `encoding "gzip"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := readAs(t, snapshot.Ingresses, c.body)
			for _, r := range s.Reads() {
				if r.Status != snapshot.Failed || !strings.Contains(r.Err, c.want) || r.Items != 0 {
					t.Errorf("read %+v, want %q", r, c.want)
				}
			}
			if names := ingressNames(s); len(names) > 0 {
				t.Errorf("there are facts of %v", names)
			}
		})
	}
}

// A server may send JSON although protobuf was requested, and a server that is not an
// API server may send an error with status 200.
func TestAnErrorInsteadOfAListFailsAKind(t *testing.T) {
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"out of order","code":500}`
	s := readAs(t, snapshot.Ingresses, []byte(body))
	if r := s.Reads()[0]; r.Status != snapshot.Failed || !strings.Contains(r.Err, "out of order") {
		t.Errorf("read %+v", r)
	}
}

// readRoutes reads HTTPRoutes from a server that responds to every request for them with
// the body.
func readRoutes(t *testing.T, body string) *snapshot.Snapshot {
	t.Helper()
	decide := kubetest.First(always, kubetest.Page("httproutes", false), ok(body))
	return read(t, newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), decide)), source.Options{}), routes)
}

func TestFormsOfAListInJSON(t *testing.T) {
	const a, b = `{"metadata":{"name":"a","namespace":"x"}}`, `{"metadata":{"name":"b","namespace":"x"}}`
	for _, c := range []struct {
		says, body string
		names      []string
		listed     bool
	}{
		{"metadata may precede the objects", `{"metadata":{"resourceVersion":"7"},"items":[` + a + `,` + b + `]}`, []string{"a", "b"}, true},
		{"and follow them", `{"apiVersion":"v1","items":[` + a + `,` + b + `],"kind":"List","metadata":{"resourceVersion":"7"}}`, []string{"a", "b"}, true},
		{"null means no objects", `{"items":null,"metadata":{"resourceVersion":"7"}}`, nil, true},
		{"an object without items is not a list", `{"metadata":{"resourceVersion":"7"}}`, nil, false},
		{"whitespace does not matter", " {\n\t\"metadata\" : {\"resourceVersion\": \"7\"}, \"items\": [ ] }\n ", nil, true},
		{"an object is not a list of objects", `{"items":{},"metadata":{"resourceVersion":"7"}}`, nil, false},
		{"an array is not a list of the API", `[` + a + `]`, nil, false},
		{"nor is null", `null`, nil, false},
		{"nor are objects without a version", `{"items":[` + a + `],"metadata":{}}`, nil, false},
		{"nor is a list with objects in two places", `{"items":[` + a + `],"metadata":{"resourceVersion":"7"},"items":[]}`, nil, false},
		{"nor is an object", `{"kind":"HTTPRoute","metadata":{"name":"a","resourceVersion":"7"}}`, nil, false},
		{"nor is an object with items", `{"kind":"HTTPRoute","metadata":{"resourceVersion":"7"},"items":[]}`, nil, false},
		{"nor is a failure", `{"kind":"Status","status":"Failure","metadata":{"resourceVersion":"7"},"message":"no"}`, nil, false},
		{"nor is a list that hides where it goes on", `{"items":[` + a + `],"metadata":{"resourceVersion":"7","continue":"x","continue":""}}`, nil, false},
		{"nor is one with a null among the objects", `{"items":[` + a + `,null],"metadata":{"resourceVersion":"7"}}`, nil, false},
		{"unknown members are ignored", `{"later":{"a":[1,{"b":null}],"c":"}"},"items":[` + a + `],"metadata":{"resourceVersion":"7","x":[]}}`, []string{"a"}, true},
		{"nor is a list followed by something else", `{"items":[` + a + `],"metadata":{"resourceVersion":"7"}}{}`, nil, false},
		{"nor one that is closed twice", `{"items":[` + a + `]],"metadata":{"resourceVersion":"7"}}`, nil, false},
		{"nor are bytes that are not text", "\xff\xfe", nil, false},
	} {
		t.Run(c.says, func(t *testing.T) {
			s := readRoutes(t, c.body)
			status := s.Status(snapshot.HTTPRoutes)
			if names := routeNames(s); (status == snapshot.Listed) != c.listed || !slices.Equal(names, c.names) {
				t.Errorf("%s, with %v: %v", status, names, s.Reads())
			}
		})
	}
}

// If a response ends early, nothing of it counts.
func TestTruncatedJSONIsNotAList(t *testing.T) {
	const whole = `{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}],"metadata":{"resourceVersion":"7"}}`
	for n := range whole {
		s := readRoutes(t, whole[:n])
		if names := routeNames(s); s.Status(snapshot.HTTPRoutes) != snapshot.Failed || len(names) > 0 {
			t.Errorf("%q: %v with %v", whole[:n], s.Reads(), names)
		}
	}
}

// A page that fails halfway is read again, and no object counts twice.
func TestJSONThatEndsEarlyIsReadAgain(t *testing.T) {
	decide := kubetest.First(2, kubetest.Page("httproutes", true), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		kubetest.Cut(60)(w, r, next)
	})
	s := read(t, newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), decide)), source.Options{}), routes)
	if r := s.Reads()[0]; r.Items != 5 || len(routeNames(s)) != 5 {
		t.Errorf("read %+v with %v", r, routeNames(s))
	}
}

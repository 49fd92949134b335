package manifests_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/manifests"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestReadObjects(t *testing.T) {
	for _, c := range []streamCase{
		{
			name:    "an object without a namespace is in namespace default",
			in:      "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\n",
			objects: []string{"Ingress default/web"},
		}, {
			name:    "a cluster-wide object has no namespace, whatever it says",
			in:      object("v1", "Namespace", "a") + "---\n" + object("networking.k8s.io/v1", "IngressClass", "nginx"),
			objects: []string{"Namespace a", "IngressClass nginx"},
		}, {
			name:    "a field that there is not is passed over, as API servers do",
			in:      "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, colour: red}\nextra: {deep: [1]}\n",
			objects: []string{"Namespace a"},
		}, {
			name:    "a field in another case is another field",
			in:      "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, Name: b}\nKind: Secret\n",
			objects: []string{"Namespace a"},
		}, {
			name:     "an object without a kind is a problem",
			in:       "apiVersion: v1\nmetadata: {name: a}\n",
			problems: []string{"document 1: decode object: no apiVersion or no kind"},
		}, {
			name:     "an object without an apiVersion is a problem",
			in:       "kind: Namespace\nmetadata: {name: a}\n",
			problems: []string{"document 1: decode object: no apiVersion or no kind"},
		}, {
			name:     "an empty mapping is a problem",
			in:       "{}\n",
			problems: []string{"document 1: decode object: no apiVersion or no kind"},
		}, {
			name:     "a text is a problem",
			in:       "hello\n---\n- a\n- b\n---\n7\n",
			problems: []string{"document 1: decode object: it is not a mapping", "document 2: decode object: it is not a mapping", "document 3: decode object: it is not a mapping"},
		}, {
			name:     "an object without a name is a problem",
			in:       "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: nightly-}\n",
			problems: []string{"document 1: decode Job: no metadata.name"},
		}, {
			name:     "a kind of a wrong type is a problem",
			in:       "apiVersion: v1\nkind: 7\n",
			problems: []string{"document 1: decode object: kind: json: cannot unmarshal number into Go value of type string"},
		}, {
			name:     "an apiVersion that is none is a problem",
			in:       "apiVersion: a/b/c\nkind: Namespace\n",
			problems: []string{"document 1: decode object: unexpected GroupVersion string: a/b/c"},
		}, {
			name:     "a field of a wrong type is a problem, and the next object is read",
			in:       "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: many}\n---\n" + namespace("a"),
			objects:  []string{"Namespace a"},
			problems: []string{"document 1: decode Deployment: json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"},
		}, {
			name:     "a number where a text belongs is a problem, as with an API server",
			in:       "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {owner: 7}}\n",
			problems: []string{"document 1: decode Namespace: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"},
		}, {
			name:     "a reason is one line",
			in:       "apiVersion: \"a/b/\\n\\nc\"\nkind: Namespace\n",
			problems: []string{"document 1: decode object: unexpected GroupVersion string: a/b/ c"},
		},
	} {
		t.Run(c.name, c.run)
	}
}

// Of two readings of one object the last counts, and that there are two is said:
// which of them is in force cannot be known.
func TestReadObjectTwiceKeepsTheLast(t *testing.T) {
	ingress := func(class string) string {
		return "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\nspec: {ingressClassName: " + class + "}\n---\n"
	}
	got, snap := read(t, stdin(strings.NewReader(ingress("first")+ingress("last"))))
	want := reading{
		objects:  []string{"Ingress default/web"},
		problems: []string{"standard input document 2: Ingress default/web is another one than in standard input document 1"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(reading{})); diff != "" {
		t.Fatalf("read (-want +got):\n%s", diff)
	}
	for f := range snap.View(snapshot.Ingresses).Ingresses() {
		if f.Class != "last" {
			t.Errorf("class %q, want that of the last", f.Class)
		}
	}
}

func TestReadObjectTwiceSeesTheNamespaceThatIsLeftOut(t *testing.T) {
	in := "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\n---\n" +
		"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web, namespace: default}\nspec: {ingressClassName: a}\n"
	streamCase{
		in: in, objects: []string{"Ingress default/web"},
		problems: []string{"document 2: Ingress default/web is another one than in standard input document 1"},
	}.run(t)
}

func TestReadTheSameObjectTwiceIsNoProblem(t *testing.T) {
	streamCase{in: namespace("a") + "---\n" + namespace("a"), objects: []string{"Namespace a"}}.run(t)
}

func TestReadObeysOwnerKeys(t *testing.T) {
	in := "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {owner: team-a, squad: team-b}}\n"
	_, snap := read(t, &manifests.Source{Paths: []string{"-"}, Stdin: strings.NewReader(in), OwnerKeys: []string{"squad"}})
	want := snapshot.OwnerKey{Value: "team-b", Key: "squad"}
	if got := snap.Namespace("a").Owner; got != want {
		t.Errorf("owner %+v, want %+v", got, want)
	}
}

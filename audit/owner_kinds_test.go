package audit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/hosts"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// ownersOf returns the owners that a rule is told for some objects.
func ownersOf(t *testing.T, config string, facts snapshot.Facts, objects ...*snapshot.Meta) []rules.Owner {
	t.Helper()
	var got []rules.Owner
	probe := rule("probe", func(in rules.Input) (rules.Result, error) {
		for _, m := range objects {
			got = append(got, in.Owner(m))
		}
		return rules.Result{}, nil
	})
	audit.Evaluate(freeze(facts), []*rules.Rule{probe}, parse(t, config), now, nil)
	return got
}

func TestOwnerOfNamespaceIsThatOfWhatIsInIt(t *testing.T) {
	in := ingest.New([]string{"owner"})
	ns := in.Namespace(&corev1.Namespace{ObjectMeta: label("owner", "team-a").meta("", "shop")})
	bare := in.Namespace(&corev1.Namespace{ObjectMeta: marks{}.meta("", "bare")})
	got := ownersOf(t, "", snapshot.Facts{Namespaces: []snapshot.Namespace{ns, bare}},
		&ns.Meta, &bare.Meta, &snapshot.Meta{Kind: "Namespace", Name: "unread"})
	want := []rules.Owner{owned("team-a", "label owner of the Namespace"), {Namespace: "bare"}, {Namespace: "unread"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOwnerOfClusterWideObjectIsItsOwnKeyOnly(t *testing.T) {
	in := ingest.New([]string{"owner"})
	signed := in.IngressClass(&networkingv1.IngressClass{ObjectMeta: label("owner", "team-a").meta("", "nginx")})
	bare := in.IngressClass(&networkingv1.IngressClass{ObjectMeta: marks{}.meta("", "shop")})
	// The class has the name of a namespace of the registry, and is none.
	got := ownersOf(t, `owners: {teams: [{name: team-b, namespaces: [shop, nginx]}]}`, snapshot.Facts{}, &signed.Meta, &bare.Meta)
	want := []rules.Owner{{Name: "team-a", Source: "label owner of the IngressClass"}, {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOwnersUnknownInTwoNamespacesAreTwo(t *testing.T) {
	got := ownersOf(t, `owners: {fallback: platform}`, snapshot.Facts{},
		&snapshot.Meta{Kind: "Ingress", Namespace: "a", Name: "web"},
		&snapshot.Meta{Kind: "Ingress", Namespace: "b", Name: "web"},
		&snapshot.Meta{Kind: "Ingress", Namespace: "a", Name: "other"})
	if got[0].Is(got[1]) {
		t.Error("two namespaces without an owner count as one owner")
	}
	if !got[0].Is(got[2]) {
		t.Error("one namespace without an owner counts as two")
	}
}

// A tenant must not be able to hide a stolen host by signing it with the name of
// its victim.
func TestOwnerContradictionIsFoundAndReported(t *testing.T) {
	in := ingest.New([]string{"owner"})
	host := func(namespace string, m marks) snapshot.Ingress {
		return in.Ingress(&networkingv1.Ingress{
			ObjectMeta: m.meta(namespace, "web"),
			Spec:       networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: "shop.example.com"}}},
		})
	}
	facts := snapshot.Facts{
		Namespaces: []snapshot.Namespace{
			in.Namespace(&corev1.Namespace{ObjectMeta: label("owner", "team-a").meta("", "shop")}),
			in.Namespace(&corev1.Namespace{ObjectMeta: label("owner", "team-b").meta("", "thief")}),
		},
		Ingresses: []snapshot.Ingress{host("shop", marks{}), host("thief", label("owner", "team-a"))},
	}
	ev := audit.Evaluate(freeze(facts), []*rules.Rule{hosts.Rule()}, parse(t, ""), now, nil)
	if len(ev.Findings) != 1 {
		t.Fatalf("got %d findings, want the stolen host", len(ev.Findings))
	}
	if diff := cmp.Diff([]string{"team-a", "team-b"}, ev.Findings[0].Owners); diff != "" {
		t.Errorf("owners of the finding (-want +got):\n%s", diff)
	}
	var told []rules.Subject
	for _, a := range ev.Advisories {
		told = append(told, a.Subject)
	}
	want := []rules.Subject{{Kind: "Ingress", Namespace: "thief", Name: "web"}}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("advisories (-want +got):\n%s", diff)
	}
}

package audit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// ownerCase is one sentence of how owners are found. It asks for the owner of an
// Ingress in namespace shop unless it says otherwise.
type ownerCase struct {
	name      string
	config    string
	namespace marks // of Namespace shop
	missing   bool  // the snapshot has no Namespace shop
	object    marks // of the Ingress
	want      rules.Owner
	told      string // if not the owner's name
}

// owned is the owner of an object in namespace shop.
func owned(name, source string) rules.Owner {
	return rules.Owner{Name: name, Namespace: "shop", Source: source}
}

// contradicted is team-a, whose namespace has an object that is signed team-b.
func contradicted(source string) rules.Owner {
	owner := owned("team-a", source)
	owner.Contradicts = snapshot.OwnerKey{Value: "team-b", Key: "owner"}
	return owner
}

func (c ownerCase) run(t *testing.T) {
	cfg := parse(t, c.config)
	in := ingest.New(cfg.Owners.Keys)
	facts := snapshot.Facts{Ingresses: []snapshot.Ingress{
		in.Ingress(&networkingv1.Ingress{ObjectMeta: c.object.meta("shop", "web")}),
	}}
	if !c.missing {
		facts.Namespaces = append(facts.Namespaces, in.Namespace(&corev1.Namespace{ObjectMeta: c.namespace.meta("", "shop")}))
	}
	told := c.told
	if told == "" {
		told = c.want.Name
	}
	var got rules.Owner
	probe := rule("probe", func(in rules.Input) (rules.Result, error) {
		got = in.Owner(&facts.Ingresses[0].Meta)
		return rules.Result{Violations: []rules.Violation{{Owners: []rules.Owner{got}}}}, nil
	})
	ev := audit.Evaluate(freeze(facts), []*rules.Rule{probe}, cfg, now, nil)
	if diff := cmp.Diff(c.want, got); diff != "" {
		t.Errorf("owner (-want +got):\n%s", diff)
	}
	if len(ev.Findings) != 1 {
		t.Fatalf("got %d findings of one violation", len(ev.Findings))
	}
	if diff := cmp.Diff([]string{told}, ev.Findings[0].Owners); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

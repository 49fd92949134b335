package audit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// wide is a result that concerns the namespaces apps, legacy and shop.
func wide() *audit.Result {
	at := func(namespace string) []rules.Object {
		return []rules.Object{
			{Ref: snapshot.Ref{Kind: "Ingress", Namespace: "apps", Name: "web"}},
			{Ref: snapshot.Ref{Kind: "Ingress", Namespace: namespace, Name: "web"}},
		}
	}
	return &audit.Result{
		Reads:    []snapshot.Read{{Kind: snapshot.Pods, Status: snapshot.Forbidden}},
		Ignored:  []audit.IgnoredKind{{Version: "v1", Kind: "ConfigMap", Items: 3}},
		Problems: []audit.Problem{{Where: "a.yaml document 1", Reason: "bad"}},
		Rules:    []audit.Outcome{{Rule: "owner-known", Status: audit.RuleSkipped}},
		Findings: []audit.Finding{
			{Subject: hostSubject("contested.example.com"), Objects: at("shop")},
			{Subject: hostSubject("shop"), Objects: at("legacy")},
			{Subject: namespaceSubject("shop", "Ingress")},
			{Subject: namespaceSubject("legacy", "Ingress")},
		},
		Advisories: []audit.Advisory{
			{Subject: rules.Subject{Kind: "Ingress", Namespace: "shop", Name: "web"}},
			{Subject: rules.Subject{Kind: "Ingress", Namespace: "legacy", Name: "shop"}},
			{Subject: hostSubject("covered.example.com"), Objects: at("shop")},
			{Rule: "config", Subject: rules.Subject{Kind: "Exception", Name: "owner-known"}},
		},
		Isolation: []rules.Isolation{{Namespace: "apps"}, {Namespace: "legacy"}, {Namespace: "shop"}},
	}
}

func TestFilter(t *testing.T) {
	for _, c := range []struct {
		name       string
		namespaces []string
		want       []string
	}{
		{
			name:       "keeps what is on the namespace or on an object in it",
			namespaces: []string{"shop"},
			want: []string{
				"finding contested.example.com", "finding shop (Ingress)",
				"advisory shop/web", "advisory covered.example.com",
				"isolation shop",
			},
		}, {
			name:       "keeps what concerns any of several namespaces",
			namespaces: []string{"shop", "legacy"},
			want: []string{
				"finding contested.example.com", "finding shop", "finding shop (Ingress)", "finding legacy (Ingress)",
				"advisory shop/web", "advisory legacy/shop", "advisory covered.example.com",
				"isolation legacy", "isolation shop",
			},
		}, {
			name:       "takes a name as it is and not for a pattern",
			namespaces: []string{"sh*"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := wide()
			audit.Filter(r, c.namespaces)
			var got []string
			for _, f := range r.Findings {
				got = append(got, "finding "+f.Subject.String())
			}
			for _, a := range r.Advisories {
				got = append(got, "advisory "+a.Subject.String())
			}
			for _, i := range r.Isolation {
				got = append(got, "isolation "+i.Namespace)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFilterByNothingKeepsEverything(t *testing.T) {
	r := wide()
	audit.Filter(r, nil)
	if diff := cmp.Diff(wide(), r); diff != "" {
		t.Error(diff)
	}
}

// What could not be read may be in any namespace, so it must not look better
// through a filter.
func TestFilterDoesNotMakeASweepComplete(t *testing.T) {
	r := wide()
	audit.Filter(r, []string{"shop"})
	w := wide()
	if diff := cmp.Diff([]any{w.Reads, w.Ignored, w.Problems, w.Rules}, []any{r.Reads, r.Ignored, r.Problems, r.Rules}); diff != "" {
		t.Error(diff)
	}
	if r.Complete() {
		t.Error("an incomplete sweep is complete for one namespace")
	}
}

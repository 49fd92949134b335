package store_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/audit/kube/store"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

func TestLiveDefinitionOfFindings(t *testing.T) {
	c := findingsCluster(t)
	kept := newStore(t, c.Config(kubetest.Admin), store.Options{})
	r := aRecord("a.example.com")
	must(kept.Create(t.Context(), r))(t)
	findings := dynamicFindings(t, c)

	t.Run("what a finding is about cannot be changed", func(t *testing.T) {
		for _, field := range [][]string{{"rule"}, {"subject", "kind"}, {"subject", "namespace"}, {"subject", "name"}, {"subject", "detail"}} {
			f := must(findings.Get(t.Context(), r.ID, metav1.GetOptions{}))(t)
			// A prefix of the name, so that only the change is wrong.
			set(t, f, "one", append([]string{"spec"}, field...)...)
			_, err := findings.Update(t.Context(), f, metav1.UpdateOptions{})
			refused(t, err, "the rule and the subject of a finding are immutable")
		}
	})
	t.Run("its name begins with its rule", func(t *testing.T) {
		f := must(findings.Get(t.Context(), r.ID, metav1.GetOptions{}))(t)
		f.SetResourceVersion("")
		f.SetName("another-rule-0123456789abcdef")
		_, err := findings.Create(t.Context(), f, metav1.CreateOptions{})
		refused(t, err, "the name must begin with the rule")
	})
	t.Run("its status is written by the subresource alone", func(t *testing.T) {
		f := must(findings.Get(t.Context(), r.ID, metav1.GetOptions{}))(t)
		set(t, f, "Resolved", "status", "state")
		f = must(findings.Update(t.Context(), f, metav1.UpdateOptions{}))(t)
		if state, _, _ := unstructured.NestedString(f.Object, "status", "state"); state != "Open" {
			t.Errorf("an update of the whole sets the state to %s", state)
		}
	})
	t.Run("limits are enforced", func(t *testing.T) {
		for field, letters := range map[string]int{
			"reason": v1alpha1.MaxWord, "verdict": v1alpha1.MaxWord, "title": v1alpha1.MaxTitle, "ownerList": v1alpha1.MaxTitle,
			"message": v1alpha1.MaxText, "cause": v1alpha1.MaxText, "remedy": v1alpha1.MaxText,
		} {
			f := must(findings.Get(t.Context(), r.ID, metav1.GetOptions{}))(t)
			set(t, f, strings.Repeat("é", letters), "status", field)
			f = must(findings.UpdateStatus(t.Context(), f, metav1.UpdateOptions{}))(t)
			set(t, f, strings.Repeat("é", letters+1), "status", field)
			_, err := findings.UpdateStatus(t.Context(), f, metav1.UpdateOptions{})
			refused(t, err, "status."+field+": Too long")
		}
		f := must(findings.Get(t.Context(), r.ID, metav1.GetOptions{}))(t)
		for field, most := range map[string]int{"owners": v1alpha1.MaxOwners, "objects": v1alpha1.MaxObjects} {
			g := f.DeepCopy()
			var many []any
			for range most + 1 {
				many = append(many, map[string]any{"kind": "Pod", "name": "web"})
			}
			set(t, g, many, "status", field)
			_, err := findings.UpdateStatus(t.Context(), g, metav1.UpdateOptions{})
			refused(t, err, "status."+field+": Too many")
		}
		for field, value := range map[string]any{"state": "Muted", "severity": "none", "sweeps": int64(-1), "reopened": int64(-1), "moreObjects": int64(-1)} {
			g := f.DeepCopy()
			set(t, g, value, "status", field)
			_, err := findings.UpdateStatus(t.Context(), g, metav1.UpdateOptions{})
			refused(t, err, "status."+field)
		}
	})
	t.Run("kubectl tells the most important of it", func(t *testing.T) {
		must(kept.Create(t.Context(), aRecord("b.example.com\x1b[31m")))(t)
		got := printed(t, c)
		for _, want := range []string{"RULE", "SUBJECT", "OWNER", "SEVERITY", "STATE", "AGE", "one-owner-per-host", "team-a, team-b", "high", "Open"} {
			if !strings.Contains(got, want) {
				t.Errorf("it does not say %q:\n%s", want, got)
			}
		}
		if strings.Contains(got, "\x1b") {
			t.Errorf("it controls the terminal: %q", got)
		}
	})
}

func set(t *testing.T, f *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(f.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}

func refused(t *testing.T, err error, why string) {
	t.Helper()
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), why) {
		t.Errorf("got %v, want it refused with %q", err, why)
	}
}

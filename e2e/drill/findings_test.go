package drill

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

func findingsOf(t *testing.T, c site) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(c.Config(kubetest.Admin))
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(v1alpha1.GroupVersion().WithResource(v1alpha1.Resource)).Namespace(c.namespace)
}

// stored returns the findings as they are, sorted by name, and the version of the
// whole.
func stored(t *testing.T, c site) (findings []v1alpha1.Finding, version string) {
	t.Helper()
	list, err := findingsOf(t, c).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		findings = append(findings, decode(t, &list.Items[i]))
	}
	slices.SortFunc(findings, func(a, b v1alpha1.Finding) int { return strings.Compare(a.Name, b.Name) })
	return findings, list.GetResourceVersion()
}

func decode(t *testing.T, u *unstructured.Unstructured) v1alpha1.Finding {
	t.Helper()
	var f v1alpha1.Finding
	data, err := u.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// restore makes the stored findings those that are given.
func restore(t *testing.T, c site, findings []v1alpha1.Finding) {
	t.Helper()
	client := findingsOf(t, c)
	if err := client.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		f.ObjectMeta = metav1.ObjectMeta{Name: f.Name, Labels: f.Labels}
		data, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(data); err != nil {
			t.Fatal(err)
		}
		made, err := client.Create(t.Context(), u.DeepCopy(), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		u.SetResourceVersion(made.GetResourceVersion())
		if _, err := client.UpdateStatus(t.Context(), u, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// timeless returns findings without what two runs need not have in common: when
// things happened, and which message told of them. Of a time it keeps whether there
// is one, and so of a message.
func timeless(findings []v1alpha1.Finding) []v1alpha1.Finding {
	happened := metav1.Unix(0, 0)
	out := slices.Clone(findings)
	for i := range out {
		f := out[i].DeepCopy()
		f.ObjectMeta = metav1.ObjectMeta{Name: f.Name, Labels: f.Labels}
		if f.Status != nil {
			times := []**metav1.Time{&f.Status.FirstSeen, &f.Status.OpenedAt, &f.Status.ResolvedAt}
			for n := range f.Status.Notifications {
				told := &f.Status.Notifications[n]
				times = append(times, &told.At, &told.ClaimedAt)
				if told.Message != "" {
					told.Message = "one"
				}
			}
			for _, when := range times {
				if !(*when).IsZero() {
					*when = &happened
				}
			}
		}
		out[i] = *f
	}
	return out
}

// versions returns the version of each finding, which every write changes.
func versions(findings []v1alpha1.Finding) map[string]string {
	out := map[string]string{}
	for _, f := range findings {
		out[f.Name] = f.ResourceVersion
	}
	return out
}

// nothingDue fails the test where an owner is still to be told of a finding, or
// somebody has taken it to tell.
func nothingDue(t *testing.T, findings []v1alpha1.Finding) {
	t.Helper()
	for _, f := range findings {
		for _, m := range f.Status.Notifications {
			if m.Pending != "" || m.ClaimedBy != "" {
				t.Errorf("%s: %s is to be told that it is %s, taken by %q", f.Spec.Subject.Name, m.Owner, m.Pending, m.ClaimedBy)
			}
		}
	}
}

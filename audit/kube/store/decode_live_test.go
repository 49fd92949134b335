package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/audit/kube/store"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules"
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

// laterDefinition is the definition that a later version may have: with one more
// state, and a field that this version does not know.
func laterDefinition(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "api", "v1alpha1", "eventuallytrue.dev_findings.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for old, later := range map[string]string{
		"                - Resolved\n":                 "                - Resolved\n                - Muted\n",
		"              openedAt:\n":                    "              mutedBy:\n                type: string\n              openedAt:\n",
		"            required:\n            - state\n": "",
	} {
		if strings.Count(text, old) != 1 {
			t.Fatalf("%q is not once in the definition", old)
		}
		text = strings.Replace(text, old, later, 1)
	}
	file := filepath.Join(t.TempDir(), "later.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLiveFindingsWrittenByAnotherProgram(t *testing.T) {
	c := control.Cluster(t)
	if err := c.InstallCRDs(t.Context(), laterDefinition(t)); err != nil {
		t.Fatal(err)
	}
	makeHome(t, c)
	findings := newStore(t, c.Config(kubetest.Admin), store.Options{})
	for _, tt := range []struct {
		name   string
		id     string // empty for the right one
		status map[string]any
		alone  bool
	}{
		{"a state that is not known", "", map[string]any{"state": "Muted"}, true},
		{"a field that is not known", "", map[string]any{"state": "Open", "mutedBy": "me"}, true},
		{"a status without a state", "", map[string]any{"message": "hello"}, true},
		{"a name that is not of its subject", hostileRule + "-0123456789abcdef", map[string]any{"state": "Open"}, true},
		{"a name that is not of any finding", hostileRule + "-x", nil, true},
		{"no status at all", "", nil, false},
		{"an empty status", "", map[string]any{}, false},
		{"a status with only a state", "", map[string]any{"state": "Open"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kubectl(t, c, "delete", "findings", "--all", "-n", home)
			id := plant(t, c, tt.name, tt.id, tt.status)
			records, newer, err := findings.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, getErr := findings.Get(t.Context(), id)
			if tt.alone {
				if len(records) != 0 || len(newer) != 1 || newer[0] != id || !errors.Is(getErr, store.ErrNewer) {
					t.Errorf("it is not left alone: %v, %v, %v", records, newer, getErr)
				}
				_, err = findings.Update(t.Context(), audit.Stored{Record: audit.Record{Finding: audit.Finding{ID: id}}, Version: versionOf(t, c, id)})
				if !errors.Is(err, store.ErrNewer) {
					t.Errorf("it can be written: %v", err)
				}
				return
			}
			if len(records) != 1 || len(newer) != 0 || getErr != nil {
				t.Fatalf("it is left alone: %v, %v, %v", records, newer, getErr)
			}
			if records[0].Incomplete != (len(tt.status) == 0) {
				t.Errorf("bare: %t", records[0].Incomplete)
			}
			if _, err := findings.Update(t.Context(), audit.Stored{Record: aRecordOf(id, tt.name), Version: records[0].Version}); err != nil {
				t.Error(err)
			}
		})
	}
}

// aRecordOf is the record of a planted finding.
func aRecordOf(id, host string) audit.Record {
	r := aRecord(host)
	r.ID = id
	return r
}

func dynamicFindings(t *testing.T, c *kubetest.Cluster) dynamic.ResourceInterface {
	t.Helper()
	client := must(dynamic.NewForConfig(c.Config(kubetest.Admin)))(t)
	return client.Resource(v1alpha1.GroupVersion().WithResource(v1alpha1.Resource)).Namespace(home)
}

// plant stores a finding as another program might, and returns its name.
func plant(t *testing.T, c *kubetest.Cluster, host, id string, status map[string]any) string {
	t.Helper()
	if id == "" {
		id = rules.ID(hostileRule, rules.Subject{Kind: "Host", Name: host})
	}
	findings := dynamicFindings(t, c)
	f := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion().String(), "kind": v1alpha1.Kind,
		"metadata": map[string]any{"name": id},
		"spec":     map[string]any{"rule": hostileRule, "subject": map[string]any{"kind": "Host", "name": host}},
	}}
	f = must(findings.Create(t.Context(), f, metav1.CreateOptions{}))(t)
	if status != nil {
		f.Object["status"] = status
		must(findings.UpdateStatus(t.Context(), f, metav1.UpdateOptions{}))(t)
	}
	return id
}

func versionOf(t *testing.T, c *kubetest.Cluster, id string) string {
	t.Helper()
	return must(dynamicFindings(t, c).Get(t.Context(), id, metav1.GetOptions{}))(t).GetResourceVersion()
}

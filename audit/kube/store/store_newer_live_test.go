package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/audit/kube/store"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules"
)

// laterDefinition is the definition as a later program may have it: with one more
// state and a field that this one does not know.
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

func TestLiveFindingsThatSomethingElseWrote(t *testing.T) {
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
		{"a status that tells the state alone", "", map[string]any{"state": "Open"}, false},
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

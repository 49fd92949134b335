package store_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube/store"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// home is the namespace that findings and leases of tests are in.
const home = "audit"

// monday is when the findings of tests are first seen.
var monday = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// findingsCluster returns a cluster that serves findings and has the home.
func findingsCluster(t *testing.T) *kubetest.Cluster {
	t.Helper()
	c := control.Cluster(t)
	if err := c.InstallCRDs(t.Context(), filepath.Join("..", "..", "api", "v1alpha1", "eventuallytrue.dev_findings.yaml")); err != nil {
		t.Fatal(err)
	}
	makeHome(t, c)
	return c
}

func makeHome(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: home}}
	if _, err := clientset(t, c.Config(kubetest.Admin)).CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func clientset(t *testing.T, cfg *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// newStore returns a store in the home that does not wait before a retry.
func newStore(t *testing.T, cfg *rest.Config, opts store.Options) *store.Store {
	t.Helper()
	opts.Sleep = func(context.Context, time.Duration) {}
	findings, err := store.New(cfg, home, opts)
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

// aRecord is an open finding on a host, with a field of each type.
func aRecord(host string) audit.Record {
	s := rules.Subject{Kind: "Host", Name: host}
	return audit.Record{
		Finding: audit.Finding{
			ID: rules.ID("one-owner-per-host", s), Rule: "one-owner-per-host", Severity: rules.High, Subject: s,
			Verdict: "contested", Owners: []string{"team-a", "team-b"},
			Message: host + " is claimed twice", Cause: "both were created in one second", Remedy: "agree",
			State: audit.StateOpen, FirstSeen: monday,
			Objects: []rules.Object{{
				Ref:   snapshot.Ref{Group: "networking.k8s.io", Kind: "Ingress", Namespace: "team-a", Name: "web"},
				Owner: "team-a", Created: monday.Add(-time.Hour), Reason: "rule", Detail: "/",
			}},
		},
		Reason: audit.ReasonOpened, OpenedAt: monday,
	}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

var control = &kubetest.Shared{}

func TestMain(m *testing.M) { os.Exit(control.Main(m)) }

func kubectl(t *testing.T, c *kubetest.Cluster, args ...string) {
	t.Helper()
	if _, err := c.Kubectl(t.Context(), args...); err != nil {
		t.Fatal(err)
	}
}

package events_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

var control = &kubetest.Shared{}

func TestMain(m *testing.M) { os.Exit(control.Main(m)) }

// home is the namespace of the findings.
const home = "audit"

func clientset(t *testing.T, cfg *rest.Config) kubernetes.Interface {
	t.Helper()
	return must(kubernetes.NewForConfig(cfg))(t)
}

func serve(t *testing.T, handler http.Handler) *rest.Config {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
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

// monday is when the findings of tests are seen first.
var monday = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// aRecord is an open finding on a host, with a field of each sort.
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

package e2e

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/e2e/node"
)

var shared = &node.Shared{}

func TestMain(m *testing.M) {
	if os.Getenv(probedPID) != "" {
		os.Exit(runProbe(os.Stdout))
	}
	os.Exit(shared.Main(m))
}

// TestInstalled is the life of an installation from the first attempt to the end. Each
// step starts with the state that the previous one left in the cluster.
func TestInstalled(t *testing.T) {
	w := newInstallation(t)
	w.LogOnFailure(t, home)
	for _, step := range []struct {
		name string
		run  func(*testing.T, *installation)
	}{
		{"wrong values are rejected", rejectsWrongValues},
		{"a wrong config fails once", failsOnceOnWrongConfig},
		{"the CronJob finds the faults", sweepsOnSchedule},
		{"the next run resolves a fixed fault", resolvesFixedFault},
		{"an upgrade keeps findings", upgradeKeepsFindings},
		{"concurrent publishers lose nothing", overlapLosesNothing},
		{"a deployment has one leader", deploymentHasOneLeader},
		{"the pod has no other rights", podHasNoOtherRights},
		{"a leader that dies in a sweep is replaced", replacesDeadLeader},
		{"many Ingresses fit", manyIngressesFit},
		{"uninstalling keeps findings", uninstallKeepsFindings},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.run(t, w) }) {
			return
		}
	}
}

const (
	// home is the namespace of the release and the findings.
	home = "audit"
	// release has the name of the chart, so that its objects have that name.
	release = "audit"

	root   = ".."
	chart  = root + "/charts/audit"
	estate = root + "/testdata/estate"
	policy = root + "/testdata/estate.config.yaml"

	// archive is the environment variable with the path of the image archive. `make
	// image-archive` writes the program beside it.
	archive = "AUDIT_E2E_IMAGE"
)

// installation is the node and what is installed on it.
type installation struct {
	*node.Node
	tools           string // folder with helm
	program         string // audit, for use outside the cluster
	repository, tag string // the image
	estate          []string
	beforeUpgrade   string // archive of the chart with an earlier version
	slack           *workspace
}

// ownNamespace is the namespace of the release, set up so that it has no findings.
const ownNamespace = `
apiVersion: v1
kind: Namespace
metadata: {name: ` + home + `, labels: {owner: platform}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: default-deny, namespace: ` + home + `}
spec: {podSelector: {}, policyTypes: [Ingress, Egress]}
`

// newInstallation returns a node with the estate applied and nothing installed.
func newInstallation(t *testing.T) *installation {
	t.Helper()
	n := shared.Node(t)
	path := os.Getenv(archive)
	if path == "" {
		t.Fatalf("%s is not set: run make e2e", archive)
	}
	tools, err := kubetest.Tools(t.Context(), "helm")
	if err != nil {
		t.Fatal(err)
	}
	w := &installation{Node: n, tools: tools, program: strings.TrimSuffix(path, ".tar")}
	w.repository, w.tag = imageName(t, path)
	if err := n.Import(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	// The images of the estate don't exist. The taint keeps its pods pending, so that
	// they don't keep the node busy with pulls.
	w.kubectl(t, "taint", "node", node.Name, "for=audit:NoSchedule")
	w.kubectl(t, "apply", "--server-side", "-R", "-f", estate)
	w.apply(t, ownNamespace)
	w.startPushgateway(t)
	w.slack = openWorkspace(t)
	w.kubectl(t, "create", "secret", "generic", "slack", "-n", home, "--from-literal=token="+slackToken)
	w.estate = w.idsOf(t, "--from", estate)
	return w
}

// imageName returns the name of the image in an archive.
func imageName(t *testing.T, path string) (repository, tag string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for r := tar.NewReader(file); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("%s contains no image with a name", path)
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Name != "manifest.json" {
			continue
		}
		var manifest []struct{ RepoTags []string }
		if err := json.NewDecoder(r).Decode(&manifest); err != nil {
			t.Fatal(err)
		}
		for _, image := range manifest {
			for _, name := range image.RepoTags {
				at := strings.LastIndex(name, ":")
				return name[:at], name[at+1:]
			}
		}
	}
}

func (w *installation) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := w.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// apply applies manifests.
func (w *installation) apply(t *testing.T, manifests string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	if err := os.WriteFile(file, []byte(manifests), 0o600); err != nil {
		t.Fatal(err)
	}
	w.kubectl(t, "apply", "--server-side", "-f", file)
}

// await waits until a condition is true, long enough for a busy machine.
func await(t *testing.T, what string, yes func() bool) {
	t.Helper()
	const limit = 2 * time.Minute
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if yes() {
			return
		}
	}
	t.Fatalf("timed out after %s waiting for %s", limit, what)
}

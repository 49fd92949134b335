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

// TestInstalled tells the story of an installation from the first attempt to the
// end. Each step begins where the one before left the cluster.
func TestInstalled(t *testing.T) {
	w := newInstallation(t)
	w.LogOnFailure(t, home)
	for _, step := range []struct {
		says string
		does func(*testing.T, *installation)
	}{
		{"a wrong value is refused", rejectsWrongValues},
		{"a wrong config fails once", failsOnceOnWrongConfig},
		{"the CronJob's pod finds what is wrong", sweepsOnSchedule},
		{"the next run resolves what is mended", resolvesFixedFault},
		{"an upgrade keeps findings", upgradeKeepsFindings},
		{"publishers beside each other lose nothing", overlapLosesNothing},
		{"a deployment has one leader", deploymentHasOneLeader},
		{"the pod may do nothing else", podHasNoOtherRights},
		{"a leader that dies in a sweep is replaced", replacesDeadLeader},
		{"many Ingresses fit", manyIngressesFit},
		{"uninstalling leaves findings", uninstallKeepsFindings},
	} {
		if !t.Run(step.says, func(t *testing.T) { step.does(t, w) }) {
			return
		}
	}
}

const (
	// home is the namespace of the release, and of the findings.
	home = "audit"
	// release is named as the chart, so that its objects have that name.
	release = "audit"

	root   = ".."
	chart  = root + "/charts/audit"
	estate = root + "/testdata/estate"
	policy = root + "/testdata/estate.config.yaml"

	// archive is the variable with the path of the image's archive. The program in
	// it is beside it, as `make image-archive` leaves them.
	archive = "AUDIT_E2E_IMAGE"
)

// world is the node, and what is installed there.
type installation struct {
	*node.Node
	tools           string // the folder of helm
	program         string // audit, for use outside the cluster
	repository, tag string // the image
	estate          []string
	beforeUpgrade   string // the archive of the chart in an earlier version
	slack           *workspace
}

// ownNamespace is the release's as the platform team of the estate makes it, who
// would not be the first to have a finding.
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

// newWorld makes a world in which nothing is installed, and the estate is applied.
func newInstallation(t *testing.T) *installation {
	t.Helper()
	n := shared.Node(t)
	path := os.Getenv(archive)
	if path == "" {
		t.Fatalf("%s names no archive of the image: run make e2e", archive)
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
	// The images of the estate are nowhere. Its pods shall wait to be scheduled, as
	// pods do, and not keep the node busy with what cannot be pulled.
	w.kubectl(t, "taint", "node", node.Name, "for=audit:NoSchedule")
	w.kubectl(t, "apply", "--server-side", "-R", "-f", estate)
	w.apply(t, ownNamespace)
	w.startPushgateway(t)
	w.slack = openWorkspace(t)
	w.kubectl(t, "create", "secret", "generic", "slack", "-n", home, "--from-literal=token="+slackToken)
	w.estate = w.idsOf(t, "--from", estate)
	return w
}

// imageName returns what the image in an archive is called.
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
			t.Fatalf("%s has no manifest of an image that is named", path)
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

// await waits until something is so, for as long as a busy machine may take.
func await(t *testing.T, what string, yes func() bool) {
	t.Helper()
	const most = 2 * time.Minute
	for end := time.Now().Add(most); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if yes() {
			return
		}
	}
	t.Fatalf("within %s it did not come about: %s", most, what)
}

package charts

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// keptBriefly is a config by which Events are recorded and resolved findings are
// deleted at once, so that sweeps do all that they ever do.
const keptBriefly = `
config: {findings: {keepResolved: 1ms}, events: true}
rbac:
  extraKinds:
    - {group: crd.antrea.io, resource: networkpolicies}
    - {group: crd.antrea.io, resource: clusternetworkpolicies}
`

// TestEveryRightIsUsed compares what the chart grants with what the API server saw
// its account ask for, in a cluster that serves every kind there is, while findings
// are opened, resolved and deleted: neither has anything that the other has not.
func TestEveryRightIsUsed(t *testing.T) {
	c := control.ClusterWithCRDs(t)
	kubectl(t, c, "apply", "--server-side", "-R", "-f", filepath.Join(moduleRoot, "testdata", "estate"))
	installed(t, c, keptBriefly)
	t.Cleanup(func() { // it is no part of what Defined promises
		if _, err := c.Kubectl(context.WithoutCancel(t.Context()), "delete", "crd", "findings.eventuallytrue.dev"); err != nil {
			t.Error(err)
		}
	})
	m := render(t, keptBriefly)
	sweep := sweeper(t, c, m)

	sweep()
	kubectl(t, c, "delete", "networkpolicy", "-n", "tracking", "tmp-debug")
	sweep() // resolves
	sweep() // deletes
	if got := kubectl(t, c, "get", "findings", "-n", home, "-l", "state=Resolved", "-o", "name"); got != "" {
		t.Errorf("resolved findings are still there: %s", got)
	}

	granted := slices.Concat(
		rights(as[rbacv1.ClusterRole](t, m, "ClusterRole/audit").Rules),
		rights(as[rbacv1.Role](t, m, "Role/audit").Rules))
	slices.Sort(granted)
	if diff := cmp.Diff(granted, asked(t, c, granted)); diff != "" {
		t.Errorf("rights (-granted +asked for):\n%s", diff)
	}
}

// sweeper returns what does what the pod of the CronJob does, with its arguments
// and its account. The first sweep may come before the API server goes by the
// account's rights.
func sweeper(t *testing.T, c *kubetest.Cluster, m manifests) func() {
	t.Helper()
	program := build(t)
	conf := file(t, as[configMap](t, m, "ConfigMap/audit").Data["audit.yaml"])
	cfg, kubeconfig := account(t, c)
	args := []string{"--kubeconfig", kubeconfig}
	for _, arg := range pods(t, m)["cronjob"].Spec.Containers[0].Args {
		args = append(args, strings.Replace(arg, "/etc/audit/audit.yaml", conf, 1))
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the rights of the account", func(ctx context.Context) bool {
		return can(ctx, t, client, "list", "networking.k8s.io", "ingresses", "") &&
			can(ctx, t, client, "create", "eventuallytrue.dev", "findings", home)
	})
	return func() {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
			t.Fatalf("audit %v: %v\n%s", args, err, out)
		}
	}
}

// request is one line of the audit log.
type request struct {
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	ObjectRef  *struct {
		APIGroup, Resource, Subresource, Namespace, Name string
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// asked lists what the account asked for as rights lists what it may, once the log
// has all of it. The name of an object counts where the right to it is one to the
// name.
func asked(t *testing.T, c *kubetest.Cluster, granted []string) []string {
	t.Helper()
	seen := map[string]bool{}
	for line := range bytes.Lines(trail(t, c)) {
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("decode %s: %v", line, err)
		}
		if r.ObjectRef == nil || r.ObjectRef.APIGroup == "authorization.k8s.io" {
			continue // discovery and the test's own questions, which everybody may ask
		}
		resource := r.ObjectRef.Resource
		if r.ObjectRef.Subresource != "" {
			resource += "/" + r.ObjectRef.Subresource
		}
		right := r.Verb + " " + string(snapshot.KindOf(r.ObjectRef.APIGroup, resource))
		if named := right + " " + r.ObjectRef.Name; slices.Contains(granted, named) {
			right = named
		}
		if writes := r.Verb != "list" && r.Verb != "get"; writes && r.ObjectRef.Namespace != home && resource != "events" {
			t.Errorf("it writes elsewhere: %s", line)
		}
		if r.ResponseStatus.Code == 403 {
			t.Errorf("it is forbidden to %s", right)
		}
		seen[right] = true
	}
	var list []string
	for right := range seen {
		list = append(list, right)
	}
	slices.Sort(list)
	return list
}

// trail returns the audit log once it holds all that was answered: a line is
// written a moment after its answer.
func trail(t *testing.T, c *kubetest.Cluster) []byte {
	t.Helper()
	cfg, _ := account(t, c)
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	mark := fmt.Sprintf("mark-%p", t)
	if err := client.Discovery().RESTClient().Get().AbsPath("/version").Param("mark", mark).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	var log []byte
	await(t, "the audit log", func(context.Context) bool {
		log, err = os.ReadFile(filepath.Join(c.Dir, trailFile))
		lines := bufio.NewScanner(bytes.NewReader(log))
		for lines.Scan() {
			if strings.Contains(lines.Text(), mark) {
				return err == nil && bytes.HasSuffix(log, []byte("\n"))
			}
		}
		return false
	})
	return log
}

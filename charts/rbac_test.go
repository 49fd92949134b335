package charts

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// rights lists what the rules allow, sorted, with a line for each verb and kind.
func rights(list []rbacv1.PolicyRule) []string {
	var out []string
	for _, r := range list {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					line := verb + " " + string(snapshot.KindOf(group, resource))
					if len(r.ResourceNames) == 0 {
						out = append(out, line)
					}
					for _, name := range r.ResourceNames {
						out = append(out, line+" "+name)
					}
				}
			}
		}
		for _, url := range r.NonResourceURLs {
			out = append(out, fmt.Sprintf("%v %s", r.Verbs, url))
		}
	}
	slices.Sort(out)
	return out
}

// TestRoleFollowsTheConfig checks that the ClusterRole allows exactly what a sweep with
// the config reads.
func TestRoleFollowsTheConfig(t *testing.T) {
	configs := map[string]string{
		"the default":                     "{}",
		"null values":                     "{rules: {owner-known: null, default-deny-present: {enabled: true}}, hostSources: null}",
		"an additional host source":       "{hostSources: [{group: example.org, version: v1, resource: doors, kind: Door, hosts: 'object.spec.hosts'}]}",
		"a host source in the core group": `{hostSources: [{group: "", version: v1, resource: services, kind: Service, hosts: 'object.spec.hosts'}]}`,
		"host sources of external-dns":    `{hostSources: [{group: "", resource: services, enabled: true}, {group: gateway.networking.k8s.io, resource: httproutes, enabled: true}]}`,
		"a disabled built-in host source": "{hostSources: [{group: route.openshift.io, resource: routes, enabled: false}]}",
		"a changed built-in host source":  "{hostSources: [{group: route.openshift.io, resource: routes, hosts: 'object.spec.host'}]}",
		"no rules":                        "{rules: {" + strings.Join(offs(catalog.All()), ", ") + "}}",
	}
	for i, r := range catalog.All() {
		others := slices.Delete(catalog.All(), i, i+1)
		configs["all but "+r.Name] = "{rules: {" + strings.Join(offs([]*rules.Rule{r}), ", ") + "}}"
		configs["none but "+r.Name] = "{rules: {" + strings.Join(offs(others), ", ") + "}}"
	}
	for name, text := range configs {
		t.Run(name, func(t *testing.T) {
			c, err := config.Parse([]byte(text), name, catalog.All())
			if err != nil {
				t.Fatal(err)
			}
			got := rights(as[rbacv1.ClusterRole](t, render(t, "config: "+text), "ClusterRole/audit").Rules)
			if diff := cmp.Diff(needs(&c), got); diff != "" {
				t.Errorf("rights (-needed +granted):\n%s", diff)
			}
		})
	}
}

// offs disables rules.
func offs(set []*rules.Rule) []string {
	var out []string
	for _, r := range set {
		out = append(out, r.Name+": {enabled: false}")
	}
	return out
}

// needs lists the rights that a sweep with the config needs.
func needs(c *config.Config) []string {
	var set []*rules.Rule
	for _, r := range catalog.All() {
		if c.Settings(r).Enabled {
			set = append(set, r)
		}
	}
	var out []string
	for _, kind := range audit.Needs(set) {
		switch kind {
		case snapshot.HostSources:
			for _, s := range c.EnabledHostSources() {
				out = append(out, "list "+string(s.Kind))
			}
		case snapshot.CiliumConfigs:
			out = append(out, "get configmaps cilium-config")
		default:
			out = append(out, "list "+string(kind))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestRolesForPeople checks that the roles for running audit from elsewhere have the same
// rights as the pod of the chart.
func TestRolesForPeople(t *testing.T) {
	m := render(t, "")
	clusterRole := rights(as[rbacv1.ClusterRole](t, m, "ClusterRole/audit").Rules)
	for file, want := range map[string][]string{
		"read-only.yaml": clusterRole,
		"publish.yaml":   rights(as[rbacv1.Role](t, m, "Role/audit").Rules),
		"events.yaml":    {"create events.events.k8s.io"},
	} {
		if diff := cmp.Diff(want, rights(readRules(t, file))); diff != "" {
			t.Errorf("rights of %s (-chart +file):\n%s", file, diff)
		}
	}
	recording := rights(as[rbacv1.ClusterRole](t, render(t, "config: {events: true}"), "ClusterRole/audit").Rules)
	both := rights(slices.Concat(readRules(t, "read-only.yaml"), readRules(t, "events.yaml")))
	if diff := cmp.Diff(both, recording); diff != "" {
		t.Errorf("rights with events: true (-files +chart):\n%s", diff)
	}
}

// readRules returns the rules of the roles in a file.
func readRules(t *testing.T, name string) []rbacv1.PolicyRule {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // opened for reading
	var list []rbacv1.PolicyRule
	for d := utilyaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		var role rbacv1.ClusterRole // other kinds have no rules
		err := d.Decode(&role)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, role.Rules...)
	}
}

// keptBriefly is a config with Events in which resolved findings are deleted at once, so
// that sweeps use all of their rights.
const keptBriefly = `
config: {findings: {keepResolved: 1ms}, events: true}
rbac:
  extraKinds:
    - {group: crd.antrea.io, resource: networkpolicies}
    - {group: crd.antrea.io, resource: clusternetworkpolicies}
`

// TestEveryRightIsUsed checks that the rights that the chart grants are exactly those that
// its service account uses, according to the audit log, in a cluster with every kind,
// while findings are opened, resolved and deleted.
func TestEveryRightIsUsed(t *testing.T) {
	c := control.ClusterWithCRDs(t)
	kubectl(t, c, "apply", "--server-side", "-R", "-f", filepath.Join(moduleRoot, "testdata", "estate"))
	installed(t, c, keptBriefly)
	t.Cleanup(func() { // other users of the cluster do not expect it
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
		t.Errorf("resolved findings were not deleted: %s", got)
	}

	granted := slices.Concat(
		rights(as[rbacv1.ClusterRole](t, m, "ClusterRole/audit").Rules),
		rights(as[rbacv1.Role](t, m, "Role/audit").Rules))
	slices.Sort(granted)
	if diff := cmp.Diff(granted, used(t, c, granted)); diff != "" {
		t.Errorf("rights (-granted +used):\n%s", diff)
	}
}

// sweeper returns a function that sweeps like the pod of the CronJob, with its arguments
// and its service account. It waits until the API server knows the account's rights.
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

// used lists the rights that the account used, in the form of rights. The name of an
// object is included if the right is restricted to it.
func used(t *testing.T, c *kubetest.Cluster, granted []string) []string {
	t.Helper()
	seen := map[string]bool{}
	for line := range bytes.Lines(trail(t, c)) {
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("decode %s: %v", line, err)
		}
		if r.ObjectRef == nil || r.ObjectRef.APIGroup == "authorization.k8s.io" {
			continue // discovery and access reviews, which everyone is allowed
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
			t.Errorf("writes in another namespace: %s", line)
		}
		if r.ResponseStatus.Code == 403 {
			t.Errorf("forbidden: %s", right)
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

// trail returns the audit log once it is complete: a line is written shortly after the
// response.
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

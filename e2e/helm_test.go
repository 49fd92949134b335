package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

type object = map[string]any

// values returns the values for installing the chart, with the given ones added or
// replaced at the top level.
func (w *installation) values(t *testing.T, others object) object {
	t.Helper()
	data, err := os.ReadFile(policy)
	if err != nil {
		t.Fatal(err)
	}
	var config object
	if err := yaml.Unmarshal(data, &config); err != nil {
		t.Fatal(err)
	}
	config["slack"] = object{"tokenFile": "/var/run/secrets/audit/slack/token"}
	config["pushgateway"] = object{"url": pushgateway}
	values := object{
		"image":       object{"repository": w.repository, "tag": w.tag, "pullPolicy": "Never"},
		"tolerations": []object{{"key": "for", "operator": "Exists"}},
		"config":      config,
		"secrets":     object{"slack": "slack"},
		"extraArgs":   []string{"--slack-api-url=" + w.slack.url},
	}
	for key, value := range others {
		values[key] = value
	}
	return values
}

// everyMinute is a CronJob that runs every minute.
func everyMinute() object {
	return object{"schedule": "* * * * *", "activeDeadlineSeconds": 55, "startingDeadlineSeconds": 30}
}

// suspended is a CronJob whose Jobs are created by the test.
func suspended() object { return object{"suspend": true} }

// tryHelm runs helm in the release's namespace and returns its output.
func (w *installation) tryHelm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(w.tools, "helm"), append(args, "--namespace", home)...)
	cmd.Env = append(os.Environ(), w.Env()...)
	for _, kind := range []string{"CACHE", "CONFIG", "DATA"} {
		cmd.Env = append(cmd.Env, fmt.Sprintf("HELM_%s_HOME=%s", kind, filepath.Join(w.Dir, "helm")))
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (w *installation) helm(t *testing.T, args ...string) string {
	t.Helper()
	out, err := w.tryHelm(t, args...)
	if err != nil {
		t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// install installs a chart or upgrades the release to it.
func (w *installation) install(t *testing.T, from string, values object) string {
	t.Helper()
	return w.helm(t, "upgrade", "--install", "--create-namespace", release, from, "--values", valuesFile(t, values))
}

func valuesFile(t *testing.T, values object) string {
	t.Helper()
	data, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// rejectsWrongValues: invalid values install nothing.
func rejectsWrongValues(t *testing.T, w *installation) {
	for _, row := range []struct {
		name   string
		values object
		want   string
	}{
		{"an unknown mode", object{"mode": "daemonset"}, "mode"},
		{"a misspelled key", object{"cronjob": object{"shedule": "* * * * *"}}, "shedule"},
		{"a token instead of the name of a Secret", object{"secrets": object{"slack": "xoxb-12_34"}}, "slack"},
	} {
		out, err := w.tryHelm(t, "install", "--create-namespace", release, chart, "--values", valuesFile(t, w.values(t, row.values)))
		if err == nil || !strings.Contains(out, row.want) {
			t.Errorf("%s is not rejected by name: %v\n%s", row.name, err, out)
		}
	}
	if left := w.kubectl(t, "get", "cronjobs,deployments,configmaps,roles,crds", "-A", "-l", "app.kubernetes.io/instance="+release, "-o", "name"); left != "" {
		t.Errorf("a rejected installation left: %s", left)
	}
}

// uninstallKeepsFindings: helm uninstall keeps the findings and says so, and the next
// installation continues with them.
func uninstallKeepsFindings(t *testing.T, w *installation) {
	before := w.findings(t)
	said := w.helm(t, "uninstall", release, "--wait")
	expectText(t, said, "kept", "findings.eventuallytrue.dev")
	if diff := cmp.Diff(before, w.findings(t)); diff != "" {
		t.Errorf("findings changed by helm uninstall (-before +after):\n%s", diff)
	}
	// Pods disappear a moment after their owners.
	const kinds = "all,configmaps,secrets,serviceaccounts,roles,rolebindings,leases,networkpolicies,clusterroles,clusterrolebindings"
	await(t, "the deletion of all other objects", func() bool {
		return w.kubectl(t, "get", kinds, "-A", "-l", "app.kubernetes.io/instance="+release, "-o", "name") == ""
	})
	w.install(t, chart, w.values(t, object{"cronjob": suspended()}))
	if job := w.sweepNow(t, "again"); job.Status.Succeeded != 1 {
		t.Fatalf("sweep of the second installation: %+v", job.Status)
	}
	after := w.findings(t)
	for name := range before {
		if after[name].UID != before[name].UID {
			t.Errorf("finding %s was recreated", name)
		}
	}
}

package e2e

import (
	"strings"
	"testing"
)

// refusesWrongValues: nothing is installed by halves.
func refusesWrongValues(t *testing.T, w *world) {
	for _, row := range []struct {
		name   string
		values object
		says   string
	}{
		{"a mode that there is none of", object{"mode": "daemonset"}, "mode"},
		{"a key with a typo", object{"cronjob": object{"shedule": "* * * * *"}}, "shedule"},
		{"a token instead of the name of a Secret", object{"secrets": object{"slack": "xoxb-12_34"}}, "slack"},
	} {
		out, err := w.tryHelm(t, "install", "--create-namespace", release, chart, "--values", valuesFile(t, w.values(t, row.values)))
		if err == nil || !strings.Contains(out, row.says) {
			t.Errorf("%s is not refused by its name: %v\n%s", row.name, err, out)
		}
	}
	if left := w.kubectl(t, "get", "cronjobs,deployments,configmaps,roles,crds", "-A", "-l", "app.kubernetes.io/instance="+release, "-o", "name"); left != "" {
		t.Errorf("a refused installation left: %s", left)
	}
}

package charts

import (
	"strings"
	"testing"
)

// TestServerTakesEveryObject, has no field in it that it does not know, and would
// default nothing to what it refuses.
func TestServerTakesEveryObject(t *testing.T) {
	c := control.Cluster(t)
	kubectl(t, c, "create", "namespace", home)
	for name, text := range map[string]string{
		"the default":                  "",
		"the mode deployment":          "mode: deployment",
		"everything":                   everything,
		"everything, as a CronJob":     strings.Replace(everything, "mode: deployment", "mode: cronjob", 1),
		"a dashboard":                  "dashboard: {enabled: true}",
		"other limits":                 `{resources: {limits: {memory: 250M, cpu: null}}, terminationGracePeriodSeconds: 60}`,
		"no rights and no account":     "{rbac: {create: false}, serviceAccount: {create: false}, networkPolicy: {enabled: false}}",
		"a name that is rather long":   "fullnameOverride: a23456789-b23456789-c23456789-d23456789-e23456789-f23456789",
		"a start at every full hour":   `cronjob: {schedule: "@hourly", suspend: true}`,
		"a zone with daylight savings": `cronjob: {timeZone: America/Argentina/Buenos_Aires}`,
	} {
		t.Run(name, func(t *testing.T) {
			kubectl(t, c, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", file(t, render(t, text).text))
		})
	}
}

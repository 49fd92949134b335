package e2e

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// overlapLosesNothing: while a sweep outside the cluster is held up, at two points, another
// fault appears, and the CronJob sweeps. In the end every fault is an open finding,
// whichever sweep was first.
func overlapLosesNothing(t *testing.T, w *installation) {
	want := w.estate
	for _, row := range []struct {
		name, host string
		holds      func(*http.Request) bool
		jobEnds    bool // while the other sweep is held up
	}{
		{"before it acquires the lease", "before.example.org", writesTo("leases"), true},
		{"while it writes findings", "within.example.org", writesTo("findings"), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			w.apply(t, contest("first."+row.host))
			held, released := make(chan struct{}), make(chan struct{})
			free := sync.OnceFunc(func() { close(released) })
			defer free()
			proxy := w.StartProxy(t, kubetest.First(1, row.holds, func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
				close(held)
				<-released
				next.ServeHTTP(rw, r)
			}))
			var out bytes.Buffer
			outside := w.audit(t, "--publish")
			outside.Env = append(outside.Env, "KUBECONFIG="+proxy.Kubeconfig(kubetest.Admin))
			outside.Stdout, outside.Stderr = &out, &out
			if err := outside.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- outside.Wait() }()
			select {
			case <-held:
			case err := <-ended:
				t.Fatalf("the outside sweep ended without a write: %v\n%s", err, &out)
			}
			w.apply(t, contest("second."+row.host))
			job := strings.TrimSuffix(row.host, ".example.org")
			w.kubectl(t, "create", "job", "-n", home, "--from=cronjob/"+release, job)
			if row.jobEnds {
				w.ended(t, job)
			} else {
				await(t, "a running pod of job "+job, func() bool { return w.runs(t, "job-name="+job) })
			}
			free()
			if err := <-ended; err != nil {
				t.Errorf("outside sweep: %v\n%s", err, &out)
			}
			if job := w.ended(t, job); condition(&job, batchv1.JobComplete) == nil {
				t.Errorf("sweep of the CronJob: %+v", job.Status)
			}
			want = w.idsOf(t)
			w.expectOpen(t, want)
			w.expectNotified(t)
			w.expectNotifiedOnce(t, row.host)
		})
	}
	if len(want) != len(w.estate)+4 {
		t.Errorf("%d findings, want %d of the estate and 4 more", len(want), len(w.estate))
	}
	w.kubectl(t, "delete", "namespace", "rivals-a", "rivals-b", "--wait")
	w.sweepNow(t, "rivals-gone")
	w.expectOpen(t, w.estate)
}

// expectNotifiedOnce checks that each owner got one message with details about the findings
// of hosts under a domain.
func (w *installation) expectNotifiedOnce(t *testing.T, domain string) {
	t.Helper()
	seen := 0
	for name, finding := range w.findings(t) {
		if !strings.HasSuffix(finding.Status.Title, "."+domain) {
			continue
		}
		seen++
		for _, n := range finding.Status.Notifications {
			w.expectSent(t, n.Channel, name, 1)
		}
	}
	if seen != 2 {
		t.Errorf("%d findings of hosts under %s, want two", seen, domain)
	}
}

// runs reports whether a container of the pods with a label is running.
func (w *installation) runs(t *testing.T, label string) bool {
	t.Helper()
	for _, pod := range w.pods(t, label) {
		for _, c := range pod.Status.ContainerStatuses {
			if c.State.Running != nil {
				return true
			}
		}
	}
	return false
}

// writesTo matches requests that write a resource.
func writesTo(resource string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/"+resource)
	}
}

// contest returns manifests for a host that two owners claim.
func contest(host string) string {
	var b strings.Builder
	for _, side := range []string{"a", "b"} {
		b.WriteString(strings.NewReplacer("SIDE", side, "HOST", host).Replace(`
apiVersion: v1
kind: Namespace
metadata: {name: rivals-SIDE, labels: {owner: rivals-SIDE}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: HOST, namespace: rivals-SIDE}
spec:
  ingressClassName: nginx
  rules:
  - host: HOST
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
---
`))
	}
	return b.String()
}

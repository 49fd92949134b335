package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
)

// sweepsOnSchedule: the CronJob sweeps without further action.
func sweepsOnSchedule(t *testing.T, w *installation) {
	began := time.Now()
	said := w.install(t, w.earlier(t), w.values(t, object{"cronjob": everyMinute()}))
	expectText(t, said, "kubectl create job -n "+home+" --from=cronjob/"+release)
	w.awaitScheduled(t, began)
	w.expectOpen(t, w.estate)
	w.expectNotified(t)
	w.expectPushed(t)
	for name, finding := range w.findings(t) {
		for _, n := range finding.Status.Notifications {
			w.expectSent(t, n.Channel, name, 1)
		}
	}
}

// resolvesFixedFault: after a policy that allows all traffic is deleted, its finding is
// resolved. The other findings are not written.
func resolvesFixedFault(t *testing.T, w *installation) {
	before := w.findings(t)
	w.kubectl(t, "delete", "networkpolicy", "-n", "tracking", "tmp-debug")
	w.awaitScheduled(t, time.Now())
	after := w.findings(t)
	resolved := in(after, v1alpha1.StateResolved)
	if len(resolved) != 1 || !strings.Contains(before[resolved[0]].Status.Title, "tracking") {
		t.Fatalf("resolved: %v, want the finding of namespace tracking", resolved)
	}
	for _, name := range in(before, v1alpha1.StateOpen) {
		if name != resolved[0] && before[name].ResourceVersion != after[name].ResourceVersion {
			t.Errorf("finding %s was written without a change", name)
		}
	}
	w.expectOpen(t, slices.DeleteFunc(slices.Clone(w.estate), func(id string) bool { return id == resolved[0] }))
	w.expectNotified(t)
	w.expectPushed(t)
	sent := after[resolved[0]].Status.Notifications
	if len(sent) != 1 || sent[0].Last != "resolved" {
		t.Fatalf("notifications of %s: %+v, want one, of its resolution", resolved[0], sent)
	}
	// Later steps need the fault.
	w.kubectl(t, "apply", "--server-side", "-R", "-f", estate)
}

// awaitScheduled waits until a Job that the CronJob created after the given time is
// complete. Its deadline ends it within a minute.
func (w *installation) awaitScheduled(t *testing.T, since time.Time) {
	t.Helper()
	await(t, "a sweep of the CronJob", func() bool {
		var list batchv1.JobList
		if err := json.Unmarshal([]byte(w.kubectl(t, "get", "jobs", "-n", home, "-o", "json")), &list); err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(list.Items, func(job batchv1.Job) bool {
			if job.Annotations[batchv1.CronJobScheduledTimestampAnnotation] == "" || !job.CreationTimestamp.After(since) {
				return false
			}
			if failed := condition(&job, batchv1.JobFailed); failed != nil {
				t.Fatalf("job %s failed: %s", job.Name, failed.Message)
			}
			return condition(&job, batchv1.JobComplete) != nil
		})
	})
}

// upgradeKeepsFindings: an upgrade from an earlier version of the chart keeps the
// findings.
func upgradeKeepsFindings(t *testing.T, w *installation) {
	definition := func() string {
		return w.kubectl(t, "get", "crd", "findings.eventuallytrue.dev", "-o", "jsonpath={.metadata.uid}")
	}
	wasDefined, before := definition(), w.findings(t)
	w.install(t, chart, w.values(t, object{"cronjob": suspended()}))
	if now := definition(); now != wasDefined {
		t.Error("the CustomResourceDefinition was recreated")
	}
	if diff := cmp.Diff(before, w.findings(t)); diff != "" {
		t.Errorf("findings changed by the upgrade (-before +after):\n%s", diff)
	}
	if job := w.sweepNow(t, "upgraded"); condition(&job, batchv1.JobComplete) == nil {
		t.Fatalf("sweep of the new version: %+v", job.Status)
	}
	w.expectOpen(t, w.estate)
	for name, finding := range w.findings(t) {
		if finding.UID != before[name].UID {
			t.Errorf("finding %s was recreated", name)
		}
	}
}

// earlier returns an archive of the chart with an earlier version number.
func (w *installation) earlier(t *testing.T) string {
	t.Helper()
	if w.beforeUpgrade == "" {
		out := w.helm(t, "package", chart, "--version", "0.0.1", "--destination", w.Dir)
		_, path, _ := strings.Cut(strings.TrimSpace(out), ": ")
		w.beforeUpgrade = path
	}
	return w.beforeUpgrade
}

// expectText checks that an output contains texts.
func expectText(t *testing.T, said string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(said, text) {
			t.Errorf("no %q in:\n%s", text, said)
		}
	}
}

// sweepNow creates a Job from the CronJob, as the notes of the chart describe, and returns
// the Job when it has ended.
func (w *installation) sweepNow(t *testing.T, name string) batchv1.Job {
	t.Helper()
	w.kubectl(t, "create", "job", "-n", home, "--from=cronjob/"+release, name)
	return w.ended(t, name)
}

// ended waits until a Job has ended.
func (w *installation) ended(t *testing.T, name string) (job batchv1.Job) {
	t.Helper()
	await(t, "the end of job "+name, func() bool {
		job = batchv1.Job{}
		if err := json.Unmarshal([]byte(w.kubectl(t, "get", "job", name, "-n", home, "-o", "json")), &job); err != nil {
			t.Fatal(err)
		}
		return condition(&job, batchv1.JobComplete) != nil || condition(&job, batchv1.JobFailed) != nil
	})
	return job
}

func condition(job *batchv1.Job, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		if c := &job.Status.Conditions[i]; c.Type == kind && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// pods returns the pods with a label.
func (w *installation) pods(t *testing.T, label string) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	if err := json.Unmarshal([]byte(w.kubectl(t, "get", "pods", "-n", home, "-l", label, "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// failsOnceOnWrongConfig: an invalid config is not retried, although the CronJob allows
// retries.
func failsOnceOnWrongConfig(t *testing.T, w *installation) {
	values := w.values(t, object{"cronjob": suspended()})
	wrong := object{"rule": "default-deny-present", "subject": object{"namespace": "legacy"}, "expires": "2099-01-01"}
	values["config"].(object)["exceptions"] = []object{wrong}
	w.install(t, w.earlier(t), values)
	job := w.sweepNow(t, "wrong-config")
	failed := condition(&job, batchv1.JobFailed)
	if failed == nil || failed.Reason != batchv1.JobReasonPodFailurePolicy || *job.Spec.BackoffLimit == 0 {
		t.Errorf("status of the job: %+v, with backoff limit %d", job.Status, *job.Spec.BackoffLimit)
	}
	pods := w.pods(t, "job-name=wrong-config")
	if len(pods) != 1 {
		t.Fatalf("%d pods, want one", len(pods))
	}
	if ended := pods[0].Status.ContainerStatuses[0].State.Terminated; ended == nil || ended.ExitCode != 2 {
		t.Errorf("the pod's container: %+v, want exit code 2", pods[0].Status.ContainerStatuses[0].State)
	}
	expectText(t, w.kubectl(t, "logs", "-n", home, pods[0].Name), "exceptions[0]", "reason")
}

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

// sweepsOnSchedule: nobody does anything but to wait for the minute.
func sweepsOnSchedule(t *testing.T, w *installation) {
	began := time.Now()
	said := w.install(t, w.earlier(t), w.values(t, object{"cronjob": everyMinute()}))
	expectText(t, said, "kubectl create job -n "+home+" --from=cronjob/"+release)
	w.awaitScheduled(t, began)
	w.expectOpen(t, w.estate)
	w.expectNotified(t)
	w.expectPushed(t)
	for name, finding := range w.findings(t) {
		for _, told := range finding.Status.Notifications {
			w.expectSent(t, told.Channel, name, 1)
		}
	}
}

// resolvesWhatIsMended: one policy is deleted that lets everything in, and the one
// finding of it is resolved. The others are not even written.
func resolvesFixedFault(t *testing.T, w *installation) {
	before := w.findings(t)
	w.kubectl(t, "delete", "networkpolicy", "-n", "tracking", "tmp-debug")
	w.awaitScheduled(t, time.Now())
	after := w.findings(t)
	resolved := in(after, v1alpha1.StateResolved)
	if len(resolved) != 1 || !strings.Contains(before[resolved[0]].Status.Title, "tracking") {
		t.Fatalf("resolved: %v, want the one of namespace tracking", resolved)
	}
	for _, name := range in(before, v1alpha1.StateOpen) {
		if name != resolved[0] && before[name].ResourceVersion != after[name].ResourceVersion {
			t.Errorf("finding %s was written, and nothing of it has changed", name)
		}
	}
	w.expectOpen(t, slices.DeleteFunc(slices.Clone(w.estate), func(id string) bool { return id == resolved[0] }))
	w.expectNotified(t)
	w.expectPushed(t)
	told := after[resolved[0]].Status.Notifications
	if len(told) != 1 || told[0].Last != "resolved" {
		t.Fatalf("who was told of %s: %+v, want the one owner, that it is resolved", resolved[0], told)
	}
	// The fault comes back, for the steps that follow.
	w.kubectl(t, "apply", "--server-side", "-R", "-f", estate)
}

// awaitScheduled waits for the end of a Job that the CronJob has made since then.
// Its deadline sees to it that it ends within its minute.
func (w *installation) awaitScheduled(t *testing.T, since time.Time) {
	t.Helper()
	await(t, "the CronJob's pod sweeps", func() bool {
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

// upgradeKeepsFindings: the release came from an earlier version of the chart.
func upgradeKeepsFindings(t *testing.T, w *installation) {
	definition := func() string {
		return w.kubectl(t, "get", "crd", "findings.eventuallytrue.dev", "-o", "jsonpath={.metadata.uid}")
	}
	wasDefined, before := definition(), w.findings(t)
	w.install(t, chart, w.values(t, object{"cronjob": suspended()}))
	if now := definition(); now != wasDefined {
		t.Error("the definition of findings was made anew")
	}
	if diff := cmp.Diff(before, w.findings(t)); diff != "" {
		t.Errorf("findings changed by the upgrade (-before +after):\n%s", diff)
	}
	if job := w.sweepNow(t, "upgraded"); condition(&job, batchv1.JobComplete) == nil {
		t.Fatalf("the sweep of the new version: %+v", job.Status)
	}
	w.expectOpen(t, w.estate)
	for name, finding := range w.findings(t) {
		if finding.UID != before[name].UID {
			t.Errorf("finding %s was made anew", name)
		}
	}
}

// earlier returns the chart as an archive, under an earlier version.
func (w *installation) earlier(t *testing.T) string {
	t.Helper()
	if w.beforeUpgrade == "" {
		out := w.helm(t, "package", chart, "--version", "0.0.1", "--destination", w.Dir)
		_, path, _ := strings.Cut(strings.TrimSpace(out), ": ")
		w.beforeUpgrade = path
	}
	return w.beforeUpgrade
}

// expectSaid checks that texts are in what was said.
func expectText(t *testing.T, said string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(said, text) {
			t.Errorf("nothing says %q:\n%s", text, said)
		}
	}
}

// sweepNow makes a Job of the CronJob, as the notes of the chart say, and returns
// how it ended.
func (w *installation) sweepNow(t *testing.T, name string) batchv1.Job {
	t.Helper()
	w.kubectl(t, "create", "job", "-n", home, "--from=cronjob/"+release, name)
	return w.ended(t, name)
}

// ended waits for the end of a Job.
func (w *installation) ended(t *testing.T, name string) (job batchv1.Job) {
	t.Helper()
	await(t, "job "+name+" ends", func() bool {
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

// pods returns those with a label.
func (w *installation) pods(t *testing.T, label string) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	if err := json.Unmarshal([]byte(w.kubectl(t, "get", "pods", "-n", home, "-l", label, "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// failsOnceOnWrongConfig: what is wrong the next time too is not tried again,
// although the CronJob says that what fails is.
func failsOnceOnWrongConfig(t *testing.T, w *installation) {
	values := w.values(t, object{"cronjob": suspended()})
	wrong := object{"rule": "default-deny-present", "subject": object{"namespace": "legacy"}, "expires": "2099-01-01"}
	values["config"].(object)["exceptions"] = []object{wrong}
	w.install(t, w.earlier(t), values)
	job := w.sweepNow(t, "wrong-config")
	failed := condition(&job, batchv1.JobFailed)
	if failed == nil || failed.Reason != batchv1.JobReasonPodFailurePolicy || *job.Spec.BackoffLimit == 0 {
		t.Errorf("the job ends with %+v, and is allowed %d more tries", job.Status, *job.Spec.BackoffLimit)
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

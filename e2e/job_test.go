package e2e

import (
	"encoding/json"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// sweepNow makes a Job of the CronJob, as the notes of the chart say, and returns
// how it ended.
func (w *world) sweepNow(t *testing.T, name string) batchv1.Job {
	t.Helper()
	w.kubectl(t, "create", "job", "-n", home, "--from=cronjob/"+release, name)
	return w.ended(t, name)
}

// ended waits for the end of a Job.
func (w *world) ended(t *testing.T, name string) (job batchv1.Job) {
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
func (w *world) pods(t *testing.T, label string) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	if err := json.Unmarshal([]byte(w.kubectl(t, "get", "pods", "-n", home, "-l", label, "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// failsOnceOnWrongConfig: what is wrong the next time too is not tried again,
// although the CronJob says that what fails is.
func failsOnceOnWrongConfig(t *testing.T, w *world) {
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
	expectSaid(t, w.kubectl(t, "logs", "-n", home, pods[0].Name), "exceptions[0]", "reason")
}

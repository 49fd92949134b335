package charts

import (
	"cmp"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

type configMap = corev1.ConfigMap

// pods returns all pod templates of the chart.
func pods(t *testing.T, m manifests) map[string]corev1.PodTemplateSpec {
	t.Helper()
	out := map[string]corev1.PodTemplateSpec{}
	test := as[corev1.Pod](t, m, "Pod/audit-test")
	out["test"] = corev1.PodTemplateSpec{ObjectMeta: test.ObjectMeta, Spec: test.Spec}
	if m.objects["CronJob/audit"] != nil {
		out["cronjob"] = as[batchv1.CronJob](t, m, "CronJob/audit").Spec.JobTemplate.Spec.Template
	} else {
		out["deployment"] = as[appsv1.Deployment](t, m, "Deployment/audit").Spec.Template
	}
	return out
}

func TestPodsAreRestricted(t *testing.T) {
	yes, no := true, false
	for _, mode := range []string{"cronjob", "deployment"} {
		for name, pod := range pods(t, render(t, "mode: "+mode)) {
			t.Run(mode+"/"+name, func(t *testing.T) {
				c := pod.Spec.Containers[0]
				want := corev1.SecurityContext{
					AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				}
				if diff := gocmp.Diff(&want, c.SecurityContext); diff != "" {
					t.Error(diff)
				}
				s := pod.Spec.SecurityContext
				if s.RunAsNonRoot == nil || !*s.RunAsNonRoot || *s.RunAsUser != 65532 || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
					t.Errorf("security context of the pod: %+v", s)
				}
				if a := pod.Spec.AutomountServiceAccountToken; a == nil || *a {
					t.Error("the token is also mounted by default")
				}
				for _, v := range c.VolumeMounts {
					if !v.ReadOnly {
						t.Errorf("%s is writable", v.MountPath)
					}
				}
				for _, v := range pod.Spec.Volumes {
					if v.Secret != nil && (v.Secret.Optional == nil || !*v.Secret.Optional) {
						t.Errorf("without the Secret of volume %s the pod does not start", v.Name)
					}
					if v.Projected == nil && v.ConfigMap == nil && v.Secret == nil {
						t.Errorf("volume %s has an unexpected type", v.Name)
					}
				}
				if len(c.Resources.Requests) != 2 || c.Resources.Limits.Memory().String() != "128Mi" {
					t.Errorf("resources: %+v", c.Resources)
				}
			})
		}
	}
}

// TestCronJobEndsBeforeTheNext checks the deadlines, retries and concurrency of the
// CronJob.
func TestCronJobEndsBeforeTheNext(t *testing.T) {
	spec := as[batchv1.CronJob](t, render(t, ""), "CronJob/audit").Spec
	const period = 600
	if !regexp.MustCompile(`^[1-9]-59/10 \* \* \* \*$`).MatchString(spec.Schedule) || *spec.JobTemplate.Spec.ActiveDeadlineSeconds >= period || *spec.StartingDeadlineSeconds >= period {
		t.Errorf("schedule %s, deadlines %d and %d", spec.Schedule, *spec.JobTemplate.Spec.ActiveDeadlineSeconds, *spec.StartingDeadlineSeconds)
	}
	if spec.ConcurrencyPolicy != batchv1.ForbidConcurrent || *spec.TimeZone != "Etc/UTC" {
		t.Errorf("%s in time zone %s", spec.ConcurrencyPolicy, *spec.TimeZone)
	}
	policy := spec.JobTemplate.Spec.PodFailurePolicy.Rules
	if len(policy) != 2 || policy[0].Action != batchv1.PodFailurePolicyActionIgnore || policy[1].Action != batchv1.PodFailurePolicyActionFailJob ||
		!gocmp.Equal(policy[1].OnExitCodes.Values, []int32{2, 3}) || *policy[1].OnExitCodes.ContainerName != "audit" {
		t.Errorf("pod failure policy: %+v", policy)
	}
	pod := spec.JobTemplate.Spec.Template.Spec
	if pod.RestartPolicy != corev1.RestartPolicyNever || *spec.JobTemplate.Spec.PodReplacementPolicy != batchv1.Failed {
		t.Error("two pods of one sweep can run at the same time")
	}
}

func TestArguments(t *testing.T) {
	for _, tc := range []struct{ values, pod, want string }{
		{"", "cronjob", "--once --publish --findings-namespace=audit --lease-wait=1m --config=/etc/audit/audit.yaml --timeout=5m"},
		{"", "test", "--once --fail-on=none --config=/etc/audit/audit.yaml --timeout=5m"},
		{"cronjob: {jitter: 90s}", "cronjob", "--once --publish --findings-namespace=audit --lease-wait=1m --jitter=90s --config=/etc/audit/audit.yaml --timeout=5m"},
		{
			"{mode: deployment, extraArgs: [--v=2]}", "deployment",
			"--publish --listen=:8080 --findings-namespace=audit --interval=10m --grace=20s --config=/etc/audit/audit.yaml --timeout=5m --v=2",
		},
	} {
		if got := strings.Join(pods(t, render(t, tc.values))[tc.pod].Spec.Containers[0].Args, " "); got != tc.want {
			t.Errorf("%s of %q: %s, want %s", tc.pod, tc.values, got, tc.want)
		}
	}
}

func TestGoMemoryLimit(t *testing.T) {
	for limit, want := range map[string]string{"128Mi": "115MiB", "1Gi": "921MiB", "250M": "", "null": ""} {
		env := pods(t, render(t, "resources: {limits: {memory: "+limit+"}}"))["cronjob"].Spec.Containers[0].Env
		got := ""
		for _, e := range env {
			got = cmp.Or(got, e.Name+"="+e.Value)
		}
		if strings.TrimPrefix(got, "GOMEMLIMIT=") != want {
			t.Errorf("limit %s: %q, want %q", limit, got, want)
		}
	}
}

func TestExtraVariablesAndVolumes(t *testing.T) {
	for name, pod := range pods(t, render(t, everything)) {
		c := pod.Spec.Containers[0]
		if e := c.Env[len(c.Env)-1]; len(c.Env) != 2 || e.Name != "HTTPS_PROXY" || e.Value != "http://proxy:3128" {
			t.Errorf("%s: environment %+v", name, c.Env)
		}
		m, v := c.VolumeMounts[len(c.VolumeMounts)-1], pod.Spec.Volumes[len(pod.Spec.Volumes)-1]
		if m.Name != "ca" || m.MountPath != "/etc/ssl/certs" || v.Name != "ca" || v.ConfigMap == nil {
			t.Errorf("%s: mount %+v of volume %+v", name, m, v)
		}
	}
	env := pods(t, render(t, "extraEnv: [{name: GOMEMLIMIT, value: 90MiB}]"))["cronjob"].Spec.Containers[0].Env
	if len(env) != 1 || env[0].Value != "90MiB" {
		t.Errorf("GOMEMLIMIT is set twice: %+v", env)
	}
}

func TestImages(t *testing.T) {
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for values, want := range map[string]string{
		"":                     "ghcr.io/eventuallytrue/audit:v0.1.0",
		"image: {tag: v9.9.9}": "ghcr.io/eventuallytrue/audit:v9.9.9",
		"image: {digest: '" + digest + "', tag: v1}": "ghcr.io/eventuallytrue/audit@" + digest,
	} {
		for name, pod := range pods(t, render(t, values)) {
			if got := pod.Spec.Containers[0].Image; got != want {
				t.Errorf("%s of %q: %s, want %s", name, values, got, want)
			}
		}
	}
}

func TestChangedConfigChangesPod(t *testing.T) {
	const key = "checksum/config"
	first := pods(t, render(t, "mode: deployment"))["deployment"].Annotations[key]
	second := pods(t, render(t, "{mode: deployment, config: {cluster: other}}"))["deployment"].Annotations[key]
	if first == "" || first == second {
		t.Errorf("checksums %q and %q", first, second)
	}
}

func TestSecretsAreFiles(t *testing.T) {
	for _, pod := range pods(t, render(t, everything)) {
		var source *corev1.SecretVolumeSource
		for _, v := range pod.Spec.Volumes {
			if v.Name == "slack" {
				source = v.Secret
			}
		}
		var path string
		for _, m := range pod.Spec.Containers[0].VolumeMounts {
			if m.Name == "slack" {
				path = m.MountPath
			}
		}
		if source == nil || source.SecretName != "audit-slack" || *source.DefaultMode != 0o440 || path != "/var/run/secrets/audit/slack" {
			t.Errorf("%+v is mounted at %q", source, path)
		}
	}
}

func TestPrecedenceOfLabels(t *testing.T) {
	m := render(t, `{
		mode: deployment, commonLabels: {owner: platform, app.kubernetes.io/name: other}, podLabels: {owner: night, app.kubernetes.io/component: other},
		commonAnnotations: {note: all}, podAnnotations: {note: pod, checksum/config: none}, serviceAccount: {annotations: {note: account}}}`)
	d := as[appsv1.Deployment](t, m, "Deployment/audit")
	pod := d.Spec.Template
	for what, got := range map[string][2]string{
		"common label":                        {d.Labels["owner"], "platform"},
		"pod label over common label":         {pod.Labels["owner"], "night"},
		"chart's own label over common label": {d.Labels["app.kubernetes.io/name"], "audit"},
		"chart's own label over pod label":    {pod.Labels["app.kubernetes.io/component"], "serve"},
		"pod annotation":                      {pod.Annotations["note"], "pod"},
		"annotation of one object":            {as[corev1.ServiceAccount](t, m, "ServiceAccount/audit").Annotations["note"], "account"},
		"common annotation":                   {d.Annotations["note"], "all"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %q, want %q", what, got[0], got[1])
		}
	}
	if pod.Annotations["checksum/config"] == "none" {
		t.Error("the checksum can be overwritten")
	}
}

// TestSelectors checks that each selector selects exactly its own pods.
func TestSelectors(t *testing.T) {
	m := render(t, everything)
	set := func(selector map[string]string) labels.Selector { return labels.SelectorFromSet(selector) }
	policy, err := metav1.LabelSelectorAsSelector(&as[networkingv1.NetworkPolicy](t, m, "NetworkPolicy/audit").Spec.PodSelector)
	if err != nil {
		t.Fatal(err)
	}
	for name, pod := range pods(t, m) {
		serves := name == "deployment"
		for what, is := range map[string]struct {
			selector labels.Selector
			want     bool
		}{
			"policy":     {policy, true},
			"service":    {set(as[corev1.Service](t, m, "Service/audit").Spec.Selector), serves},
			"deployment": {set(as[appsv1.Deployment](t, m, "Deployment/audit").Spec.Selector.MatchLabels), serves},
		} {
			if got := is.selector.Matches(labels.Set(pod.Labels)); got != is.want {
				t.Errorf("the %s selects the pod of the %s: %t", what, name, got)
			}
		}
	}
}

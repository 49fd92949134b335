package estate

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Deployment returns the i-th Deployment.
func (s Size) Deployment(i int) *appsv1.Deployment {
	app := fmt.Sprintf("web-%06d", i)
	labels := appLabels(app)
	replicas := int32(2)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.name(i), Name: app, Labels: labels,
			Annotations: map[string]string{"meta.helm.sh/release-name": app, "deployment.kubernetes.io/revision": "7"},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": app}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec(app)},
		},
	}
}

// Pod returns the i-th Pod, which no known object controls: those of one app have
// their labels in common.
func (s Size) Pod(i int) *corev1.Pod {
	const ofApp = 5
	app := fmt.Sprintf("job-%06d", i/ofApp)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.name(i / ofApp), Name: fmt.Sprintf("%s-%d", app, i%ofApp), Labels: appLabels(app),
			Annotations: map[string]string{"checksum/config": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},
		},
		Spec: podSpec(app),
	}
}

// Policy returns the i-th NetworkPolicy, which denies by default what only some
// peers may do.
func (s Size) Policy(i int) *networkingv1.NetworkPolicy {
	tcp, udp := corev1.ProtocolTCP, corev1.ProtocolUDP
	port := func(n int) *intstr.IntOrString { p := intstr.FromInt(n); return &p }
	from := func(key, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.name(i), Name: "default-deny", Labels: appLabels("policies")},
		Spec: networkingv1.NetworkPolicySpec{
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From:  []networkingv1.NetworkPolicyPeer{{NamespaceSelector: from("kubernetes.io/metadata.name", "ingress-nginx")}},
				Ports: []networkingv1.NetworkPolicyPort{{Protocol: &tcp, Port: port(8080)}},
			}},
			Egress: []networkingv1.NetworkPolicyEgressRule{{
				To:    []networkingv1.NetworkPolicyPeer{{NamespaceSelector: from("kubernetes.io/metadata.name", "kube-system")}},
				Ports: []networkingv1.NetworkPolicyPort{{Protocol: &udp, Port: port(53)}},
			}},
		},
	}
}

func podSpec(app string) corev1.PodSpec {
	no, user := false, int64(10001)
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{PeriodSeconds: 10, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("http")},
		}}
	}
	return corev1.PodSpec{
		AutomountServiceAccountToken: &no,
		Containers: []corev1.Container{{
			Name: "web", Image: "registry.example.com/shop/" + app + ":2.14.1",
			Args:  []string{"--listen=:8080", "--config=/etc/web/config.yaml"},
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}, {Name: "metrics", ContainerPort: 9090}},
			Env: []corev1.EnvVar{
				{Name: "LOG_LEVEL", Value: "info"},
				{Name: "REGION", Value: "eu-central-1"},
				{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
			},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")},
				Limits:   corev1.ResourceList{"memory": resource.MustParse("256Mi")},
			},
			ReadinessProbe: probe("/ready"), LivenessProbe: probe("/healthz"),
			SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no, RunAsUser: &user},
			VolumeMounts:    []corev1.VolumeMount{{Name: "config", MountPath: "/etc/web"}},
		}},
		Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: app}},
		}}},
	}
}

func uid(i int) types.UID { return types.UID(fmt.Sprintf("6a3f2b10-0000-4000-8000-%012d", i)) }

// managed is what the API server notes of the fields of an object, of about the
// length that it has.
const managed = `{"f:metadata":{"f:annotations":{".":{},"f:meta.helm.sh/release-name":{},"f:meta.helm.sh/release-namespace":{}},` +
	`"f:labels":{".":{},"f:app.kubernetes.io/instance":{},"f:app.kubernetes.io/managed-by":{},"f:app.kubernetes.io/name":{},` +
	`"f:app.kubernetes.io/version":{}}},"f:spec":{"f:ingressClassName":{},"f:rules":{},"f:tls":{}}}`

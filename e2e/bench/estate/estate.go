// Package estate generates the objects of a cluster of any size, always the same ones
// for the same size. They have the size of real objects, and few violate a rule.
package estate

import (
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Size is the number of objects of each kind.
type Size struct {
	Namespaces  int
	Ingresses   int
	Contested   int // of the Ingresses, those that claim the host of another team
	Deployments int
	Pods        int
	Policies    int // one default-deny NetworkPolicy each in that many namespaces
}

// Default is the estate that the targets of the benchmark apply to.
func Default() Size {
	return Size{Namespaces: 1_000, Ingresses: 10_050, Contested: 50, Deployments: 5_000, Policies: 970}
}

// Large is ten times as large as Default and has pods.
func Large() Size {
	return Size{
		Namespaces: 10_000, Ingresses: 100_000, Contested: 50, Deployments: 5_000, Pods: 50_000, Policies: 10_000,
	}
}

// Check returns an error if there is no estate of the size.
func (s Size) Check() error {
	switch {
	case s.Namespaces < 2*namespacesOfTeam:
		return fmt.Errorf("an estate needs %d namespaces, for two teams", 2*namespacesOfTeam)
	case s.Policies > s.Namespaces:
		return fmt.Errorf("%d policies need as many namespaces, not %d", s.Policies, s.Namespaces)
	case s.Contested > s.Ingresses/2:
		return fmt.Errorf("%d of %d ingresses can't claim hosts of others: at most half can", s.Contested, s.Ingresses)
	case min(s.Ingresses, s.Contested, s.Deployments, s.Pods, s.Policies) < 0:
		return errors.New("negative number of objects")
	}
	return nil
}

// Objects is the number of all objects.
func (s Size) Objects() int {
	return s.Namespaces + s.Ingresses + s.Deployments + s.Pods + s.Policies
}

// namespacesOfTeam is the number of namespaces of each team.
const namespacesOfTeam = 10

// name returns the name of the i-th namespace, modulo the number of namespaces.
func (s Size) name(i int) string { return fmt.Sprintf("shop-%05d", i%s.Namespaces) }

// Namespace returns the i-th Namespace, with a label for its team.
func (s Size) Namespace(i int) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: s.name(i),
		Labels: map[string]string{
			"team": fmt.Sprintf("team-%04d", i/namespacesOfTeam), "env": "prod",
			"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/warn": "restricted",
		},
		Annotations: map[string]string{"contact": "https://wiki.example.com/teams", "cost-center": "4711"},
	}}
}

// Ingress returns the i-th Ingress. The last ones claim hosts of the first ones, from
// a namespace of another team.
func (s Size) Ingress(i int) *networkingv1.Ingress {
	host := i
	namespace := s.name(i)
	if contested := s.Ingresses - s.Contested; i >= contested {
		host = i - contested
		namespace = s.name(host + s.Namespaces/2)
	}
	app, domain := fmt.Sprintf("web-%06d", i), fmt.Sprintf("h%06d.example.com", host)
	labels := appLabels(app)
	labels["helm.sh/chart"] = "web-1.18.4"
	class, prefix := "nginx", networkingv1.PathTypePrefix
	path := func(path string) networkingv1.HTTPIngressPath {
		return networkingv1.HTTPIngressPath{Path: path, PathType: &prefix, Backend: networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: app, Port: networkingv1.ServiceBackendPort{Number: 80}},
		}}
	}
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: app, Labels: labels,
			Annotations: map[string]string{
				"cert-manager.io/cluster-issuer":                 "letsencrypt",
				"meta.helm.sh/release-name":                      app,
				"meta.helm.sh/release-namespace":                 namespace,
				"nginx.ingress.kubernetes.io/proxy-body-size":    "8m",
				"nginx.ingress.kubernetes.io/proxy-read-timeout": "60",
			},
		},
		Spec: networkingv1.IngressSpec{
			IngressClassName: &class,
			TLS:              []networkingv1.IngressTLS{{Hosts: []string{domain}, SecretName: app + "-tls"}},
			Rules: []networkingv1.IngressRule{{Host: domain, IngressRuleValue: networkingv1.IngressRuleValue{
				HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{path("/"), path("/api")}},
			}}},
		},
	}
}

// appLabels returns the labels that charts usually set on the objects of an app.
func appLabels(app string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name": app, "app.kubernetes.io/instance": app,
		"app.kubernetes.io/version": "2.14.1", "app.kubernetes.io/managed-by": "Helm",
	}
}

// Stamp sets the metadata that an API server sets on creation: a UID, a time and an
// entry in managedFields.
func Stamp(o metav1.Object, i int, now time.Time) {
	o.SetUID(uid(i))
	o.SetResourceVersion(fmt.Sprint(1000 + i))
	o.SetGeneration(1)
	o.SetCreationTimestamp(metav1.NewTime(now))
	at := metav1.NewTime(now)
	o.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "estate", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(managed),
	}})
}

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

// Pod returns the i-th Pod. It has no controller; the pods of an app have the same
// labels.
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

// Policy returns the i-th NetworkPolicy, which denies all traffic except with a few
// peers.
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

// managed is an entry of managedFields of typical length.
const managed = `{"f:metadata":{"f:annotations":{".":{},"f:meta.helm.sh/release-name":{},"f:meta.helm.sh/release-namespace":{}},` +
	`"f:labels":{".":{},"f:app.kubernetes.io/instance":{},"f:app.kubernetes.io/managed-by":{},"f:app.kubernetes.io/name":{},` +
	`"f:app.kubernetes.io/version":{}}},"f:spec":{"f:ingressClassName":{},"f:rules":{},"f:tls":{}}}`

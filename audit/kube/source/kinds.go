package source

import (
	"google.golang.org/protobuf/encoding/protowire"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/audit/kube"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// resource says how a kind with a typed client is read.
type resource struct {
	kind    snapshot.Kind
	version string
	// everywhere is true for a kind that every API server serves: what responds with
	// 404 for it is not an API server.
	everywhere bool
	// open returns how the kind is listed. The ingester is used by that list only.
	open func(kubernetes.Interface, *ingest.Ingester) kube.List[snapshot.Facts]
}

// resources returns how each kind is read that has a typed client. To add a kind, add
// its line here. The kinds without a typed client are in ingest.Customs.
func resources() []resource {
	return []resource{
		{kind: snapshot.Namespaces, version: "v1", everywhere: true, open: openNamespaces},
		{kind: snapshot.Pods, version: "v1", everywhere: true, open: openPods},
		{kind: snapshot.ReplicationControllers, version: "v1", open: openReplicationControllers},
		{kind: snapshot.DaemonSets, version: "v1", open: openDaemonSets},
		{kind: snapshot.Deployments, version: "v1", open: openDeployments},
		{kind: snapshot.ReplicaSets, version: "v1", open: openReplicaSets},
		{kind: snapshot.StatefulSets, version: "v1", open: openStatefulSets},
		{kind: snapshot.CronJobs, version: "v1", open: openCronJobs},
		{kind: snapshot.Jobs, version: "v1", open: openJobs},
		{kind: snapshot.IngressClasses, version: "v1", open: openIngressClasses},
		{kind: snapshot.Ingresses, version: "v1", open: openIngresses},
		{kind: snapshot.NetworkPolicies, version: "v1", open: openNetworkPolicies},
		{kind: snapshot.ValidatingWebhooks, version: "v1", open: openWebhooks},
		{kind: snapshot.ValidatingPolicies, version: "v1", open: openAdmissionPolicies},
		{kind: snapshot.ValidatingBindings, version: "v1", open: openAdmissionBindings},
	}
}

func openNamespaces(c kubernetes.Interface, in *ingest.Ingester) kube.List[snapshot.Facts] {
	return typed[corev1.Namespace, *corev1.Namespace]{
		client: c.CoreV1().RESTClient(), ingester: in, kind: snapshot.Namespaces, fields: namespaceFields(),
		facts: one(in.Namespace, func(f *snapshot.Facts) *[]snapshot.Namespace { return &f.Namespaces }),
	}.list()
}

func openPods(c kubernetes.Interface, in *ingest.Ingester) kube.List[snapshot.Facts] {
	return typed[corev1.Pod, *corev1.Pod]{
		client: c.CoreV1().RESTClient(), ingester: in, kind: snapshot.Pods, fields: podFields(),
		facts: one(in.Pod, func(f *snapshot.Facts) *[]snapshot.Pod { return &f.Pods }),
	}.list()
}

func openReplicationControllers(c kubernetes.Interface, in *ingest.Ingester) kube.List[snapshot.Facts] {
	return typed[corev1.ReplicationController, *corev1.ReplicationController]{
		client: c.CoreV1().RESTClient(), ingester: in, kind: snapshot.ReplicationControllers, fields: templateFields(3),
		facts: one(in.ReplicationController, workloads),
	}.list()
}

func openDaemonSets(c kubernetes.Interface, in *ingest.Ingester) kube.List[snapshot.Facts] {
	return typed[appsv1.DaemonSet, *appsv1.DaemonSet]{
		client: c.AppsV1().RESTClient(), ingester: in, kind: snapshot.DaemonSets, fields: portedFields(2),
		facts: one(in.DaemonSet, workloads),
	}.list()
}

func openDeployments(c kubernetes.Interface, in *ingest.Ingester) kube.List[snapshot.Facts] {
	return typed[appsv1.Deployment, *appsv1.Deployment]{
		client: c.AppsV1().RESTClient(), ingester: in, kind: snapshot.Deployments, fields: portedFields(3),
		facts: one(in.Deployment, workloads),
	}.list()
}

func openReplicaSets(c kubernetes.Interface, in *ingest.Ingester) kube.List[snapshot.Facts] {
	return typed[appsv1.ReplicaSet, *appsv1.ReplicaSet]{
		client: c.AppsV1().RESTClient(), ingester: in, kind: snapshot.ReplicaSets, fields: templateFields(3),
		facts: one(in.ReplicaSet, workloads),
	}.list()
}

func openStatefulSets(c kubernetes.Interface, in *ingest.Ingester) kube.List[snapshot.Facts] {
	return typed[appsv1.StatefulSet, *appsv1.StatefulSet]{
		client: c.AppsV1().RESTClient(), ingester: in, kind: snapshot.StatefulSets, fields: portedFields(3),
		facts: one(in.StatefulSet, workloads),
	}.list()
}

func openCronJobs(c kubernetes.Interface, in *ingest.Ingester) kube.List[snapshot.Facts] {
	return typed[batchv1.CronJob, *batchv1.CronJob]{
		client: c.BatchV1().RESTClient(), ingester: in, kind: snapshot.CronJobs, fields: cronJobFields(),
		facts: one(in.CronJob, workloads),
	}.list()
}

func openJobs(c kubernetes.Interface, in *ingest.Ingester) kube.List[snapshot.Facts] {
	return typed[batchv1.Job, *batchv1.Job]{
		client: c.BatchV1().RESTClient(), ingester: in, kind: snapshot.Jobs, fields: jobFields(),
		facts: one(in.Job, workloads),
	}.list()
}

func openIngressClasses(c kubernetes.Interface, in *ingest.Ingester) kube.List[snapshot.Facts] {
	return typed[networkingv1.IngressClass, *networkingv1.IngressClass]{
		client: c.NetworkingV1().RESTClient(), ingester: in, kind: snapshot.IngressClasses, fields: specFields(),
		facts: one(in.IngressClass, func(f *snapshot.Facts) *[]snapshot.IngressClass { return &f.IngressClasses }),
	}.list()
}

func openIngresses(c kubernetes.Interface, in *ingest.Ingester) kube.List[snapshot.Facts] {
	return typed[networkingv1.Ingress, *networkingv1.Ingress]{
		client: c.NetworkingV1().RESTClient(), ingester: in, kind: snapshot.Ingresses, fields: ingressFields(),
		hosts: [][]protowire.Number{{2, 3}, {2, 2, 1}}, // spec.rules, spec.tls.hosts
		facts: one(in.Ingress, func(f *snapshot.Facts) *[]snapshot.Ingress { return &f.Ingresses }),
	}.list()
}

func openNetworkPolicies(c kubernetes.Interface, in *ingest.Ingester) kube.List[snapshot.Facts] {
	return typed[networkingv1.NetworkPolicy, *networkingv1.NetworkPolicy]{
		client: c.NetworkingV1().RESTClient(), ingester: in, kind: snapshot.NetworkPolicies, fields: specFields(),
		facts: one(in.NetworkPolicy, func(f *snapshot.Facts) *[]snapshot.Policy { return &f.Policies }),
	}.list()
}

func workloads(f *snapshot.Facts) *[]snapshot.Workload { return &f.Workloads }

// openWebhooks opens a kind whose objects are several facts each. Objects of this kind
// and the kinds below are few, and are decoded whole.
func openWebhooks(c kubernetes.Interface, in *ingest.Ingester) kube.List[snapshot.Facts] {
	type object = admissionv1.ValidatingWebhookConfiguration
	return typed[object, *object]{
		client: c.AdmissionregistrationV1().RESTClient(), ingester: in, kind: snapshot.ValidatingWebhooks,
		facts: sink[object]{add: func(f *snapshot.Facts, o *object) {
			f.AdmissionControls = append(f.AdmissionControls, in.Webhooks(o)...)
		}},
	}.list()
}

func openAdmissionPolicies(c kubernetes.Interface, in *ingest.Ingester) kube.List[snapshot.Facts] {
	type object = admissionv1.ValidatingAdmissionPolicy
	return typed[object, *object]{
		client: c.AdmissionregistrationV1().RESTClient(), ingester: in, kind: snapshot.ValidatingPolicies,
		facts: one(in.AdmissionPolicy, func(f *snapshot.Facts) *[]snapshot.AdmissionControl { return &f.AdmissionControls }),
	}.list()
}

func openAdmissionBindings(c kubernetes.Interface, in *ingest.Ingester) kube.List[snapshot.Facts] {
	type object = admissionv1.ValidatingAdmissionPolicyBinding
	return typed[object, *object]{
		client: c.AdmissionregistrationV1().RESTClient(), ingester: in, kind: snapshot.ValidatingBindings,
		facts: one(in.AdmissionBinding, func(f *snapshot.Facts) *[]snapshot.AdmissionBinding { return &f.AdmissionBindings }),
	}.list()
}

// metaField is the field of an object's metadata, decoded as far as most kinds need it,
// and with the given fields.
func metaField(more ...field) field {
	return field{1, append(fieldSet{
		{number: 1}, {number: 3}, // name, namespace
		{number: 7}, {number: 8}, {number: 9}, // generation, creation, deletion
		{number: 11}, {number: 12}, {number: 13}, {number: 14}, // labels, annotations, owner references, finalizers
	}, more...)}
}

func uid() field { return field{number: 5} }

func managedFields() field { return field{number: 17} }

// podTemplate is the field of a pod template, decoded to its labels and podSpec.
func podTemplate(number protowire.Number, more ...field) field {
	return field{number, fieldSet{{1, fieldSet{{number: 11}}}, {2, append(podSpec(), more...)}}}
}

// portedFields are those of templateFields and the ports that containers declare.
func portedFields(number protowire.Number) fieldSet {
	ports := field{2, fieldSet{{6, fieldSet{{number: 3}, {number: 4}}}}} // containers.ports: containerPort, protocol
	return fieldSet{metaField(uid()), {2, fieldSet{podTemplate(number, ports)}}}
}

// podSpec are the fields of a pod's spec that facts need. API servers set
// serviceAccountName where only the deprecated serviceAccount is given.
func podSpec() fieldSet {
	return fieldSet{{number: 8}, {number: 11}} // serviceAccountName, hostNetwork
}

func namespaceFields() fieldSet {
	return fieldSet{metaField(), {3, fieldSet{{number: 1}, {number: 2}}}} // status.phase, status.conditions
}

func podFields() fieldSet {
	return fieldSet{metaField(), {2, podSpec()}, {3, fieldSet{{number: 1}}}} // spec, status.phase
}

// templateFields are the fields of a kind whose spec holds a pod template.
func templateFields(number protowire.Number) fieldSet {
	return fieldSet{metaField(uid()), {2, fieldSet{podTemplate(number)}}}
}

func jobFields() fieldSet {
	return fieldSet{metaField(uid()), {2, fieldSet{podTemplate(6)}}, {3, fieldSet{{number: 1}}}} // status.conditions
}

func cronJobFields() fieldSet {
	return fieldSet{metaField(uid()), {2, fieldSet{{5, fieldSet{{2, fieldSet{podTemplate(6)}}}}}}} // spec.jobTemplate.spec
}

// ingressFields are the spec, and the addresses in the status.
func ingressFields() fieldSet {
	return append(specFields(managedFields()), field{3, fieldSet{{number: 1}}}) // status.loadBalancer
}

// specFields are the whole spec, and metadata with the given fields.
func specFields(more ...field) fieldSet {
	return fieldSet{metaField(more...), {number: 2}}
}

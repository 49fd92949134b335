package manifests

import (
	"cmp"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// entry is a kind whose objects can be ingested.
type entry struct {
	kind snapshot.Kind
	name string
	// few is true if only some objects of the kind matter.
	few bool
	// versions are the versions that take can decode.
	versions []string
	// take ingests an object and returns its name, with the namespace completed.
	take func(r *reader, data []byte) (types.NamespacedName, error)
}

// entryMap returns the entries by group, version and kind of their objects. An object of
// the group extensions is the same object in the group that replaced it: the kinds below
// that name extensions are those that Kubernetes stored once and served in both groups
// (pkg/kubeapiserver/default_storage_factory_builder.go and the deprecation guide).
// Calico's two groups are told apart in the snapshot, because their names may differ.
func entryMap() map[schema.GroupVersionKind]entry {
	m := map[schema.GroupVersionKind]entry{}
	for _, e := range append(entries(), admissionEntries()...) {
		for _, version := range e.versions {
			gvk := schema.GroupVersionKind{Group: e.kind.Group(), Version: version, Kind: e.name}
			if version == extensions {
				gvk.Group, gvk.Version = extensions, "v1beta1"
			}
			m[gvk] = e
		}
	}
	for _, c := range ingest.Customs() {
		addCustom(m, c)
	}
	return m
}

// addCustom adds the entries of a custom kind. Types that have an entry keep it.
func addCustom(m map[schema.GroupVersionKind]entry, c ingest.Custom) {
	for gvk, e := range customEntries(c) {
		if _, taken := m[gvk]; !taken {
			m[gvk] = e
		}
	}
}

// customEntries returns the entries of a custom kind.
func customEntries(c ingest.Custom) map[schema.GroupVersionKind]entry {
	e := entry{kind: c.Kind, name: c.Object, few: len(c.Only) > 0, take: func(r *reader, data []byte) (types.NamespacedName, error) {
		data, name, err := r.complete(c.Kind, data, c.Namespaced)
		if err != nil {
			return name, err
		}
		return name, c.Take(r.ingester, data, &r.facts)
	}}
	m := map[schema.GroupVersionKind]entry{}
	for _, version := range c.Versions {
		m[schema.GroupVersionKind{Group: c.Kind.Group(), Version: version, Kind: c.Object}] = e
	}
	return m
}

// extensions, as a version, means the group extensions that served a kind.
const extensions = "extensions"

// entries returns the built-in kinds that can be ingested. A kind whose fields changed has
// an entry for each form.
func entries() []entry {
	return []entry{
		clusterWide(snapshot.Namespaces, "Namespace", (*ingest.Ingester).Namespace,
			func(f *snapshot.Facts) *[]snapshot.Namespace { return &f.Namespaces }),
		namespaced(snapshot.Pods, "Pod", (*ingest.Ingester).Pod,
			func(f *snapshot.Facts) *[]snapshot.Pod { return &f.Pods }),
		namespaced(snapshot.ReplicationControllers, "ReplicationController", (*ingest.Ingester).ReplicationController, workloads),
		namespaced(snapshot.Deployments, "Deployment", (*ingest.Ingester).Deployment, workloads, "v1beta1", "v1beta2", extensions),
		namespaced(snapshot.ReplicaSets, "ReplicaSet", (*ingest.Ingester).ReplicaSet, workloads, "v1beta2", extensions),
		namespaced(snapshot.StatefulSets, "StatefulSet", (*ingest.Ingester).StatefulSet, workloads, "v1beta1", "v1beta2"),
		namespaced(snapshot.DaemonSets, "DaemonSet", (*ingest.Ingester).DaemonSet, workloads, "v1beta2", extensions),
		namespaced(snapshot.Jobs, "Job", (*ingest.Ingester).Job, workloads),
		namespaced(snapshot.CronJobs, "CronJob", (*ingest.Ingester).CronJob, workloads, "v1beta1", "v2alpha1"),
		namespaced(snapshot.Ingresses, "Ingress", (*ingest.Ingester).Ingress, ingresses),
		namespaced(snapshot.Ingresses, "Ingress", ingressBetaFact, ingresses).only("v1beta1", extensions),
		clusterWide(snapshot.IngressClasses, "IngressClass", (*ingest.Ingester).IngressClass,
			func(f *snapshot.Facts) *[]snapshot.IngressClass { return &f.IngressClasses }, "v1beta1"),
		namespaced(snapshot.NetworkPolicies, "NetworkPolicy", (*ingest.Ingester).NetworkPolicy,
			func(f *snapshot.Facts) *[]snapshot.Policy { return &f.Policies }, extensions),
	}
}

// admissionEntries returns the kinds of admission controls. One configuration has several
// webhooks. What matters here of the older versions is spelled as in v1.
func admissionEntries() []entry {
	controls := func(f *snapshot.Facts) *[]snapshot.AdmissionControl { return &f.AdmissionControls }
	return []entry{
		webhooks("v1", admissionv1.Fail, 10),
		webhooks("v1beta1", admissionv1.Ignore, 30),
		clusterWide(snapshot.ValidatingPolicies, "ValidatingAdmissionPolicy", (*ingest.Ingester).AdmissionPolicy, controls, "v1beta1", "v1alpha1"),
		clusterWide(snapshot.ValidatingBindings, "ValidatingAdmissionPolicyBinding", (*ingest.Ingester).AdmissionBinding,
			func(f *snapshot.Facts) *[]snapshot.AdmissionBinding { return &f.AdmissionBindings }, "v1beta1", "v1alpha1"),
	}
}

// webhooks returns the entry of configurations of webhooks in a version with these defaults
// (pkg/apis/admissionregistration/*/defaults.go).
func webhooks(version string, failure admissionv1.FailurePolicyType, seconds int32) entry {
	return entry{
		kind: snapshot.ValidatingWebhooks, name: "ValidatingWebhookConfiguration", versions: []string{version},
		take: func(r *reader, data []byte) (types.NamespacedName, error) {
			var o admissionv1.ValidatingWebhookConfiguration
			name, err := r.decode(snapshot.ValidatingWebhooks, data, &o, false)
			if err != nil {
				return name, err
			}
			for i := range o.Webhooks {
				w := &o.Webhooks[i]
				w.FailurePolicy = cmp.Or(w.FailurePolicy, &failure)
				w.TimeoutSeconds = cmp.Or(w.TimeoutSeconds, &seconds)
			}
			r.facts.AdmissionControls = append(r.facts.AdmissionControls, r.ingester.Webhooks(&o)...)
			return name, nil
		},
	}
}

func workloads(f *snapshot.Facts) *[]snapshot.Workload { return &f.Workloads }

func ingresses(f *snapshot.Facts) *[]snapshot.Ingress { return &f.Ingresses }

// only returns the entry with these versions instead.
func (e entry) only(versions ...string) entry {
	e.versions = versions
	return e
}

// object is a pointer to an API type.
type object[T any] interface {
	*T
	metav1.Object
}

func namespaced[T, F any, P object[T]](kind snapshot.Kind, name string, fact func(*ingest.Ingester, P) F,
	list func(*snapshot.Facts) *[]F, older ...string,
) entry {
	return newEntry(kind, name, true, fact, list, older)
}

func clusterWide[T, F any, P object[T]](kind snapshot.Kind, name string, fact func(*ingest.Ingester, P) F,
	list func(*snapshot.Facts) *[]F, older ...string,
) entry {
	return newEntry(kind, name, false, fact, list, older)
}

func newEntry[T, F any, P object[T]](kind snapshot.Kind, name string, inNamespace bool,
	fact func(*ingest.Ingester, P) F, list func(*snapshot.Facts) *[]F, older []string,
) entry {
	return entry{
		kind: kind, name: name, versions: append([]string{"v1"}, older...),
		take: func(r *reader, data []byte) (types.NamespacedName, error) {
			o := P(new(T))
			name, err := r.decode(kind, data, o, inNamespace)
			if err != nil {
				return name, err
			}
			return name, r.ingester.Add(&r.facts, func() error {
				facts := list(&r.facts)
				*facts = append(*facts, fact(r.ingester, o))
				return nil
			})
		},
	}
}

// ingressBeta is an Ingress of a version before v1. Its backends had other fields, and the
// default one another name.
type ingressBeta struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Backend          *backendBeta              `json:"backend"`
		IngressClassName *string                   `json:"ingressClassName"`
		TLS              []networkingv1.IngressTLS `json:"tls"`
		Rules            []struct {
			Host string `json:"host"`
			HTTP *struct {
				Paths []struct {
					Path     string                 `json:"path"`
					PathType *networkingv1.PathType `json:"pathType"`
					Backend  backendBeta            `json:"backend"`
				} `json:"paths"`
			} `json:"http"`
		} `json:"rules"`
	} `json:"spec"`
	Status networkingv1.IngressStatus `json:"status"`
}

// backendBeta is a backend of an Ingress before v1.
type backendBeta struct {
	ServiceName string                            `json:"serviceName"`
	ServicePort intstr.IntOrString                `json:"servicePort"`
	Resource    *corev1.TypedLocalObjectReference `json:"resource"`
}

func (b *backendBeta) v1() networkingv1.IngressBackend {
	out := networkingv1.IngressBackend{Resource: b.Resource}
	if b.ServiceName != "" {
		out.Service = &networkingv1.IngressServiceBackend{Name: b.ServiceName}
		if b.ServicePort.Type == intstr.String {
			out.Service.Port.Name = b.ServicePort.StrVal
		} else {
			out.Service.Port.Number = b.ServicePort.IntVal
		}
	}
	return out
}

func ingressBetaFact(in *ingest.Ingester, o *ingressBeta) snapshot.Ingress {
	v1 := networkingv1.Ingress{ObjectMeta: o.ObjectMeta, Status: o.Status, Spec: networkingv1.IngressSpec{
		IngressClassName: o.Spec.IngressClassName, TLS: o.Spec.TLS,
	}}
	if o.Spec.Backend != nil {
		backend := o.Spec.Backend.v1()
		v1.Spec.DefaultBackend = &backend
	}
	for _, rule := range o.Spec.Rules {
		to := networkingv1.IngressRule{Host: rule.Host}
		if rule.HTTP != nil {
			to.HTTP = &networkingv1.HTTPIngressRuleValue{}
			for _, p := range rule.HTTP.Paths {
				// Older versions may leave out the type.
				pathType := cmp.Or(p.PathType, ptr.To(networkingv1.PathTypeImplementationSpecific))
				to.HTTP.Paths = append(to.HTTP.Paths, networkingv1.HTTPIngressPath{Path: p.Path, PathType: pathType, Backend: p.Backend.v1()})
			}
		}
		v1.Spec.Rules = append(v1.Spec.Rules, to)
	}
	return in.Ingress(&v1)
}

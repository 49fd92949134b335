package hostsource

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// openshiftHosts: a Route claims spec.host, or with the wildcard policy Subdomain
// every host beside it that differs in one label. A Route that asks for a subdomain
// of the router's has its host only in the status. Whether a router admitted it does
// not matter: a Route that was rejected because its host is taken is the conflict.
const openshiftHosts = `object.?spec.?host.orValue('') == ''
  ? object.?status.?ingress.orValue([]).map(i, i.?host.orValue('')) :
object.spec.?wildcardPolicy.orValue('') == 'Subdomain'
  ? ['*.' + object.spec.host.substring(object.spec.host.indexOf('.') + 1)]
  : [object.spec.host]`

// The marks of Routes that were made for another object.
const (
	labelSolver   = "acme.cert-manager.io/http01-solver"
	challengePath = "/.well-known/acme-challenge/"

	// serverlessNamespace is where OpenShift Serverless keeps Routes for objects in other
	// namespaces.
	serverlessNamespace   = "knative-serving-ingress"
	labelKnativeName      = "serving.knative.openshift.io/ingressName"
	labelKnativeNamespace = "serving.knative.openshift.io/ingressNamespace"
)

// openshiftMarks returns what the marks of a Route say about where it comes from. They are
// written by whoever writes the Route, so they drop no claim by themselves.
//
// OpenShift generates a Route from the Ingress of a solver and copies its label: the Route
// has the label, an Ingress as its controller, and as its path one token below the
// challenge directory. OpenShift Serverless labels the Routes that it keeps in its own
// namespace with the object that they serve; that of a DomainMapping has its name.
func openshiftMarks(object map[string]any) (solver bool, copyOf *snapshot.Ref) {
	o := unstructured.Unstructured{Object: object}
	labels := o.GetLabels()
	if namespace, name := labels[labelKnativeNamespace], labels[labelKnativeName]; o.GetNamespace() == serverlessNamespace && namespace != "" && name != "" {
		return false, &snapshot.Ref{Group: "serving.knative.dev", Kind: "DomainMapping", Namespace: namespace, Name: name}
	}
	path, _, _ := unstructured.NestedString(object, "spec", "path")
	policy, _, _ := unstructured.NestedString(object, "spec", "wildcardPolicy")
	token, ok := strings.CutPrefix(path, challengePath)
	if labels[labelSolver] != "true" || !ok || token == "" || strings.ContainsFunc(token, notBase64URL) || policy == "Subdomain" {
		return false, nil
	}
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		return r.Kind == "Ingress" && strings.HasPrefix(r.APIVersion, "networking.k8s.io/") && r.Controller != nil && *r.Controller
	}), nil
}

func notBase64URL(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
}

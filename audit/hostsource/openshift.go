package hostsource

import (
	"strings"

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

// The marks of Routes that repeat the claim of another object.
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
// has the label, the Ingress as its controller, and as its path one token below the
// challenge directory. OpenShift Serverless labels the Routes that it keeps in its own
// namespace with the object that they serve; that of a DomainMapping has its name.
func openshiftMarks(object map[string]any) (solver bool, of *snapshot.Ref) {
	o := unstructured.Unstructured{Object: object}
	labels := o.GetLabels()
	if o.GetNamespace() == serverlessNamespace && labels[labelKnativeNamespace] != "" {
		return false, copyOf(snapshot.Ref{
			Group: "serving.knative.dev", Kind: "DomainMapping", Namespace: labels[labelKnativeNamespace], Name: labels[labelKnativeName],
		})
	}
	path, _, _ := unstructured.NestedString(object, "spec", "path")
	policy, _, _ := unstructured.NestedString(object, "spec", "wildcardPolicy")
	token, ok := strings.CutPrefix(path, challengePath)
	if labels[labelSolver] != "true" || !ok || token == "" || strings.ContainsFunc(token, notBase64URL) || policy == "Subdomain" {
		return false, nil
	}
	for _, r := range o.GetOwnerReferences() {
		if group, _, _ := strings.Cut(r.APIVersion, "/"); r.Kind == "Ingress" && group == "networking.k8s.io" && r.Controller != nil && *r.Controller {
			return true, copyOf(snapshot.Ref{Group: group, Kind: r.Kind, Namespace: o.GetNamespace(), Name: r.Name})
		}
	}
	return false, nil
}

// copyOf returns a reference, or nil if no object can have its name: owner references have
// names of any length.
func copyOf(r snapshot.Ref) *snapshot.Ref {
	if r.Name == "" || len(r.Name) > longestHost {
		return nil
	}
	return &r
}

func notBase64URL(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
}

package hostsource_test

import (
	"strings"
	"testing"
)

// A Route has the marks of a copy only if it has all of them.
func TestMarksOfOpenShift(t *testing.T) {
	const solver = `{"metadata": {"namespace": "team-a", "labels": {"acme.cert-manager.io/http01-solver": "true"},
		"ownerReferences": [{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "cm-x", "controller": true}]},
		"spec": {"host": "shop.example.com", "path": "/.well-known/acme-challenge/tHe_t0ken-"}}`
	const serverless = `{"metadata": {"namespace": "knative-serving-ingress", "labels": {
		"serving.knative.openshift.io/ingressNamespace": "team-a", "serving.knative.openshift.io/ingressName": "shop.example.com"}},
		"spec": {"host": "shop.example.com"}}`
	routes := builtIn(t, "routes.route.openshift.io")
	for _, row := range []struct {
		name, object, of string
		solver           bool
	}{
		{"a solver", solver, "", true},
		{"a solver's label is false", strings.Replace(solver, `"true"`, `"false"`, 1), "", false},
		{"of another kind", strings.Replace(solver, `"Ingress"`, `"Deployment"`, 1), "", false},
		{"of another group", strings.Replace(solver, "networking.k8s.io", "example.com", 1), "", false},
		{"not controlled by the Ingress", strings.Replace(solver, "true}", "false}", 1), "", false},
		{"more than a challenge", strings.Replace(solver, "tHe_t0ken-", "", 1), "", false},
		{"a pattern as the token", strings.Replace(solver, "tHe_t0ken-", ".*", 1), "", false},
		{"no path", strings.Replace(solver, `"path"`, `"nopath"`, 1), "", false},
		{"every host beside its own", strings.Replace(solver, `"path"`, `"wildcardPolicy": "Subdomain", "path"`, 1), "", false},
		{"of OpenShift Serverless", serverless, "DomainMapping team-a/shop.example.com", false},
		{"of OpenShift Serverless, without a name", strings.Replace(serverless, "ingressName\"", "other\"", 1), "", false},
		{"in another namespace", strings.Replace(serverless, "knative-serving-ingress", "team-b", 1), "", false},
	} {
		claims, err := routes.Read(t.Context(), decode(t, row.object))
		of := ""
		if claims.CopyOf != nil {
			of = claims.CopyOf.String()
		}
		if err != nil || of != row.of || claims.Solver != row.solver {
			t.Errorf("%s: copy of %q, solver %t, %v", row.name, of, claims.Solver, err)
		}
	}
}

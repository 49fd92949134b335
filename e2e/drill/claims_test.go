package drill

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// claims are the hosts that teams lay claim to, by the team's namespace.
type claims map[string][]string

// hosts returns the names of some hosts: those from one number to before another.
func hosts(from, to int) []string {
	var names []string
	for i := from; i < to; i++ {
		names = append(names, fmt.Sprintf("host-%04d.example.com", i))
	}
	return names
}

// lay makes the teams' claims as given, and one by each of a host that nobody else
// wants. A team that is not named keeps its own.
func lay(t *testing.T, c site, all claims) {
	t.Helper()
	client := typed(t, c, kubetest.Admin)
	for team, names := range all {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team, Labels: map[string]string{"team": team}}}
		_, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		ingresses := client.NetworkingV1().Ingresses(team)
		web := ingress(append([]string{team + ".example.com"}, names...))
		if _, err = ingresses.Update(t.Context(), web, metav1.UpdateOptions{}); apierrors.IsNotFound(err) {
			_, err = ingresses.Create(t.Context(), web, metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// ingress claims hosts, of which there must be one at least.
func ingress(names []string) *networkingv1.Ingress {
	backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
		Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80},
	}}
	prefix := networkingv1.PathTypePrefix
	class := "public"
	web := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	web.Spec.IngressClassName = &class
	for _, name := range names {
		web.Spec.Rules = append(web.Spec.Rules, networkingv1.IngressRule{Host: name, IngressRuleValue: networkingv1.IngressRuleValue{
			HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &prefix, Backend: backend}}},
		}})
	}
	return web
}

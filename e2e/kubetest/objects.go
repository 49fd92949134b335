package kubetest

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Ingress returns an Ingress that routes the root path of each host to a Service
// named web.
func Ingress(name, class string, hosts ...string) *networkingv1.Ingress {
	prefix := networkingv1.PathTypePrefix
	web := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
		Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80},
	}}
	ingress := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       networkingv1.IngressSpec{IngressClassName: &class},
	}
	for _, host := range hosts {
		ingress.Spec.Rules = append(ingress.Spec.Rules, networkingv1.IngressRule{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{
			HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &prefix, Backend: web}}},
		}})
	}
	return ingress
}

// FreeLease clears a Lease, as if it had expired, and returns its former holder.
func (c *Cluster) FreeLease(ctx context.Context, namespace, name string) (holder string, err error) {
	client, err := kubernetes.NewForConfig(c.Config(Admin))
	if err != nil {
		return "", fmt.Errorf("free lease: %w", err)
	}
	leases := client.CoordinationV1().Leases(namespace)
	lease, err := leases.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("free lease: %w", err)
	}
	if lease.Spec.HolderIdentity != nil {
		holder = *lease.Spec.HolderIdentity
	}
	lease.Spec = coordinationv1.LeaseSpec{}
	if _, err := leases.Update(ctx, lease, metav1.UpdateOptions{}); err != nil {
		return "", fmt.Errorf("free lease: %w", err)
	}
	return holder, nil
}

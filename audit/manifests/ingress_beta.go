package manifests

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// ingressBeta is an Ingress of the versions before v1, as far as it matters
// here: its default backend had another name. What the backend is of is left
// out, since it was told in other fields and only that there is one counts.
type ingressBeta struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Backend          *struct{}                  `json:"backend"`
		IngressClassName *string                    `json:"ingressClassName"`
		TLS              []networkingv1.IngressTLS  `json:"tls"`
		Rules            []networkingv1.IngressRule `json:"rules"`
	} `json:"spec"`
}

func ingressBetaFact(in *ingest.Ingester, o *ingressBeta) snapshot.Ingress {
	v1 := networkingv1.Ingress{ObjectMeta: o.ObjectMeta, Spec: networkingv1.IngressSpec{
		IngressClassName: o.Spec.IngressClassName, TLS: o.Spec.TLS, Rules: o.Spec.Rules,
	}}
	if o.Spec.Backend != nil {
		v1.Spec.DefaultBackend = &networkingv1.IngressBackend{}
	}
	return in.Ingress(&v1)
}

package kube

import (
	"context"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func openWebhooks(c kubernetes.Interface, in *ingest.Ingester) fetch {
	client := c.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	return func(ctx context.Context, opts metav1.ListOptions, into *snapshot.Facts) (int, string, error) {
		page, err := client.List(ctx, opts)
		if err != nil {
			return 0, "", err
		}
		if page.ResourceVersion == "" {
			return 0, "", errNoList
		}
		for i := range page.Items {
			into.Gates = append(into.Gates, in.Webhooks(&page.Items[i])...)
		}
		return len(page.Items), page.Continue, nil
	}
}

func openAdmissionPolicies(c kubernetes.Interface, in *ingest.Ingester) fetch {
	return typed(c.AdmissionregistrationV1().ValidatingAdmissionPolicies().List,
		func(l *admissionv1.ValidatingAdmissionPolicyList) []admissionv1.ValidatingAdmissionPolicy {
			return l.Items
		},
		in.AdmissionPolicy, func(f *snapshot.Facts) *[]snapshot.Gate { return &f.Gates })
}

func openAdmissionBindings(c kubernetes.Interface, in *ingest.Ingester) fetch {
	return typed(c.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().List,
		func(l *admissionv1.ValidatingAdmissionPolicyBindingList) []admissionv1.ValidatingAdmissionPolicyBinding {
			return l.Items
		},
		in.AdmissionBinding, func(f *snapshot.Facts) *[]snapshot.GateBinding { return &f.GateBindings })
}

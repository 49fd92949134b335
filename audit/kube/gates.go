package kube

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// openWebhooks opens a kind of which each object is several facts. Of it and the
// kinds below there are few, and they are decoded whole.
func openWebhooks(s *Source, in *ingest.Ingester) list {
	type object = admissionv1.ValidatingWebhookConfiguration
	return typed[object, *object]{
		client: s.client.AdmissionregistrationV1().RESTClient(), kind: snapshot.ValidatingWebhooks,
		facts: sink[object]{add: func(f *snapshot.Facts, o *object) {
			f.AdmissionControls = append(f.AdmissionControls, in.Webhooks(o)...)
		}},
	}.list()
}

func openAdmissionPolicies(s *Source, in *ingest.Ingester) list {
	type object = admissionv1.ValidatingAdmissionPolicy
	return typed[object, *object]{
		client: s.client.AdmissionregistrationV1().RESTClient(), kind: snapshot.ValidatingPolicies,
		facts: one(in.AdmissionPolicy, func(f *snapshot.Facts) *[]snapshot.AdmissionControl { return &f.AdmissionControls }),
	}.list()
}

func openAdmissionBindings(s *Source, in *ingest.Ingester) list {
	type object = admissionv1.ValidatingAdmissionPolicyBinding
	return typed[object, *object]{
		client: s.client.AdmissionregistrationV1().RESTClient(), kind: snapshot.ValidatingBindings,
		facts: one(in.AdmissionBinding, func(f *snapshot.Facts) *[]snapshot.AdmissionBinding { return &f.AdmissionBindings }),
	}.list()
}

package ingest

import (
	"slices"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Webhooks returns a fact for each webhook of a configuration; Part tells them apart.
// Selectors that the API would reject select everything: the webhook is then assumed to
// see the object.
func (in *Ingester) Webhooks(o *admissionv1.ValidatingWebhookConfiguration) []snapshot.AdmissionControl {
	var out []snapshot.AdmissionControl
	for i := range o.Webhooks {
		w := &o.Webhooks[i]
		c := snapshot.AdmissionControl{
			Meta:    in.meta(admissionv1.GroupName, "ValidatingWebhookConfiguration", &o.ObjectMeta),
			Webhook: w.Name,
			// The API defaults to Fail and ten seconds.
			FailsOpen:   w.FailurePolicy != nil && *w.FailurePolicy == admissionv1.Ignore,
			Timeout:     10 * time.Second,
			Conditional: len(w.MatchConditions) > 0 || !selectsAll(w.ObjectSelector),
		}
		c.Part = i
		if w.TimeoutSeconds != nil {
			c.Timeout = time.Duration(*w.TimeoutSeconds) * time.Second
		}
		c.Namespaces, _ = in.selector(w.NamespaceSelector)
		for _, r := range w.Rules {
			c.Covers = append(c.Covers, admissionRule(r))
		}
		out = append(out, c)
	}
	return out
}

// AdmissionPolicy returns the fact of a ValidatingAdmissionPolicy.
func (in *Ingester) AdmissionPolicy(o *admissionv1.ValidatingAdmissionPolicy) snapshot.AdmissionControl {
	c := snapshot.AdmissionControl{
		Meta:        in.meta(admissionv1.GroupName, "ValidatingAdmissionPolicy", &o.ObjectMeta),
		FailsOpen:   o.Spec.FailurePolicy != nil && *o.Spec.FailurePolicy == admissionv1.Ignore,
		Conditional: len(o.Spec.MatchConditions) > 0,
	}
	if m := o.Spec.MatchConstraints; m != nil {
		c.Namespaces, _ = in.selector(m.NamespaceSelector)
		c.Conditional = c.Conditional || !selectsAll(m.ObjectSelector) || len(m.ExcludeResourceRules) > 0
		for _, r := range m.ResourceRules {
			c.Covers = append(c.Covers, admissionRule(r.RuleWithOperations))
		}
	}
	return c
}

// AdmissionBinding returns the fact of a ValidatingAdmissionPolicyBinding.
func (in *Ingester) AdmissionBinding(o *admissionv1.ValidatingAdmissionPolicyBinding) snapshot.AdmissionBinding {
	b := snapshot.AdmissionBinding{
		Meta:   in.meta(admissionv1.GroupName, "ValidatingAdmissionPolicyBinding", &o.ObjectMeta),
		Policy: o.Spec.PolicyName,
		Denies: slices.Contains(o.Spec.ValidationActions, admissionv1.Deny),
	}
	if m := o.Spec.MatchResources; m != nil {
		b.Namespaces, _ = in.selector(m.NamespaceSelector)
	}
	return b
}

func admissionRule(r admissionv1.RuleWithOperations) snapshot.AdmissionRule {
	all := slices.Contains(r.Operations, admissionv1.OperationAll)
	return snapshot.AdmissionRule{
		Groups:    slices.Clone(r.APIGroups),
		Resources: slices.Clone(r.Resources),
		Creates:   all || slices.Contains(r.Operations, admissionv1.Create),
		Updates:   all || slices.Contains(r.Operations, admissionv1.Update),
	}
}

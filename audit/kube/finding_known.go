package kube

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
)

// knownFindings are the findings of a page of which this program knows all there is.
type knownFindings struct {
	meta     metav1.ListMeta
	findings []*v1alpha1.Finding
}

// readKnown reads a page of findings, or returns false where one of them is in another
// form than this program writes, or anything is not as it should be: then it is for
// readFinding to say which. Mostly nothing is, and to read all of them at once takes
// half the time that they take one by one.
func readKnown(text []byte) (knownFindings, bool) {
	var list struct {
		APIVersion string          `json:"apiVersion"`
		Kind       string          `json:"kind"`
		Metadata   metav1.ListMeta `json:"metadata"`
		Items      []knownFinding  `json:"items"`
	}
	if strange, err := kjson.UnmarshalStrict(text, &list); err != nil || len(strange) > 0 {
		return knownFindings{}, false
	}
	// An API server would not send it.
	if list.Items == nil || isList(list.Kind, "") != nil {
		return knownFindings{}, false
	}
	all := knownFindings{meta: list.Metadata, findings: make([]*v1alpha1.Finding, len(list.Items))}
	for i := range list.Items {
		f := list.Items[i].finding()
		if known(f) != nil {
			return knownFindings{}, false
		}
		all.findings[i] = f
	}
	return all, true
}

// knownFinding is a finding of which all is decoded but most of its metadata: who
// manages which field would be most of the work.
type knownFinding struct {
	APIVersion string                  `json:"apiVersion"`
	Kind       string                  `json:"kind"`
	Metadata   knownMeta               `json:"metadata"`
	Spec       v1alpha1.FindingSpec    `json:"spec"`
	Status     *v1alpha1.FindingStatus `json:"status"`
}

type knownMeta struct {
	Name            string            `json:"name"`
	ResourceVersion string            `json:"resourceVersion"`
	Labels          map[string]string `json:"labels"`

	Annotations                passed `json:"annotations"`
	CreationTimestamp          passed `json:"creationTimestamp"`
	DeletionGracePeriodSeconds passed `json:"deletionGracePeriodSeconds"`
	DeletionTimestamp          passed `json:"deletionTimestamp"`
	Finalizers                 passed `json:"finalizers"`
	GenerateName               passed `json:"generateName"`
	Generation                 passed `json:"generation"`
	ManagedFields              passed `json:"managedFields"`
	Namespace                  passed `json:"namespace"`
	OwnerReferences            passed `json:"ownerReferences"`
	SelfLink                   passed `json:"selfLink"`
	UID                        passed `json:"uid"`
}

// passed is a field that is passed over.
type passed struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*passed) UnmarshalJSON([]byte) error { return nil }

func (k *knownFinding) finding() *v1alpha1.Finding {
	return &v1alpha1.Finding{
		TypeMeta:   metav1.TypeMeta{APIVersion: k.APIVersion, Kind: k.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: k.Metadata.Name, ResourceVersion: k.Metadata.ResourceVersion, Labels: k.Metadata.Labels},
		Spec:       k.Spec, Status: k.Status,
	}
}

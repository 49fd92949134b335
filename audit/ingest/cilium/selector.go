package cilium

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// endpointSelector is a selector over the labels of an endpoint. Those are the labels of
// the pod, labels that Cilium derives from its location, and reserved labels for
// endpoints that are not pods.
type endpointSelector struct {
	namespaces snapshot.Selector // over the labels of the Namespace
	pods       snapshot.Selector
	// reserved are the reserved labels that are required. No pod has any.
	reserved []string
	// unknown is true if the selector requires labels that are in no fact, and unsure if
	// it requires that there are none of those, which is so unless Cilium is configured
	// to read them.
	unknown, unsure bool
	// cluster is true if it depends on the name of the cluster.
	cluster bool
}

// The labels that Cilium adds to those of a pod (pkg/k8s/apis/cilium.io/const.go).
const (
	labelNamespace        = "io.kubernetes.pod.namespace"
	prefixNamespaceLabels = "io.cilium.k8s.namespace.labels."
	labelServiceAccount   = "io.cilium.k8s.policy.serviceaccount"
	labelCluster          = "io.cilium.k8s.policy.cluster"
)

// Selectors converts a label selector of the API. It returns an error for one that the API
// rejects.
type Selectors func(*metav1.LabelSelector) (snapshot.Selector, error)

func (s Selectors) endpoints(of *metav1.LabelSelector) (endpointSelector, error) {
	var out endpointSelector
	all, err := s(of)
	if err != nil {
		return out, err
	}
	for _, r := range all {
		out.add(r)
	}
	slices.SortStableFunc(out.namespaces, byKey)
	slices.SortStableFunc(out.pods, byKey)
	return out, nil
}

// add adds a requirement to the selector that it belongs to. A key may be prefixed with the
// source of the label; the default is "any".
func (s *endpointSelector) add(r snapshot.Requirement) {
	source, key, found := strings.Cut(r.Key, ":")
	if !found {
		source, key = "any", r.Key
	}
	asks := r.Op == snapshot.In || r.Op == snapshot.Exists
	namespaceLabel, ofNamespace := strings.CutPrefix(key, prefixNamespaceLabels)
	switch {
	case source == "reserved":
		// No pod has the label, so a negative requirement excludes none.
		if asks {
			s.reserved = append(s.reserved, key)
		}
	case source != "any" && source != "k8s":
		s.without(asks)
	case key == labelNamespace:
		r.Key = corev1.LabelMetadataName
		s.namespaces = append(s.namespaces, r)
	case ofNamespace:
		r.Key = namespaceLabel
		s.namespaces = append(s.namespaces, r)
	case key == labelServiceAccount:
		// Every pod has one.
		if r.Op != snapshot.Exists {
			r.Key = snapshot.ServiceAccountKey
			s.pods = append(s.pods, r)
		}
	case key == labelCluster:
		// Every pod has it, but its value is in no fact.
		s.cluster = s.cluster || r.Op != snapshot.Exists
	case outsideIdentity(key):
		s.without(asks)
	default:
		r.Key = key
		s.pods = append(s.pods, r)
	}
}

// without adds a requirement on a label that endpoints do not have.
func (s *endpointSelector) without(asks bool) {
	s.unknown, s.unsure = s.unknown || asks, s.unsure || !asks
}

// outsideIdentity reports whether Cilium by default ignores a label of pods in its
// decisions (pkg/labelsfilter/filter.go).
func outsideIdentity(key string) bool {
	for _, prefix := range []string{
		"io.kubernetes", "io.cilium.k8s", "kubernetes.io", "k8s.io", "annotation",
		"statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index",
		"batch.kubernetes.io/job-completion-index", "batch.kubernetes.io/controller-uid",
		"pod-template-generation", "pod-template-hash", "controller-revision-hash", "controller-uid", "etcd_node",
	} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return strings.Contains(key, "beta.kubernetes.io")
}

// unknownLabel is what a selector of pods asks for if it depends on labels of endpoints
// that are in no fact: nobody has it, but its policies are evaluated as if all had it, too.
const unknownLabel = snapshot.ServiceAccountLabelPrefix + "of a Cilium endpoint"

// subject returns the selected pods of a namespace, or of all namespaces if it is empty. A
// selector that asks for labels that endpoints do not have selects none.
func (s *endpointSelector) subject(namespace string) snapshot.PodPeer {
	p := snapshot.PodPeer{Namespaces: s.namespaces, Pods: s.pods}
	switch {
	case s.unknown || len(s.reserved) > 0:
		p.Pods = noPod()
	case s.unsure || s.cluster:
		p.Pods = append(slices.Clone(p.Pods), snapshot.Requirement{Key: unknownLabel, Op: snapshot.Exists})
		slices.SortStableFunc(p.Pods, byKey)
	}
	if namespace == "" {
		return p
	}
	// A namespaced policy is limited to its namespace, whatever it selects.
	name := snapshot.Requirement{Key: corev1.LabelMetadataName, Op: snapshot.In, Values: []string{namespace}}
	own := snapshot.NewLabels(map[string]string{name.Key: namespace})
	p.Namespaces = snapshot.Selector{name}
	for _, r := range s.namespaces {
		switch {
		case r.Key != name.Key:
			p.Namespaces = append(p.Namespaces, r)
		case !r.Matches(own):
			p.Pods = noPod()
		}
	}
	if len(p.Namespaces) == 1 {
		p.Namespaces, p.OwnNamespace = nil, true
	}
	slices.SortStableFunc(p.Namespaces, byKey)
	return p
}

// peer adds the selected pods to the peers. A policy of a namespace selects pods of that
// namespace, unless it selects namespaces itself (getEndpointSelector in
// pkg/k8s/apis/cilium.io/utils).
func (s *endpointSelector) peer(namespace string, to *snapshot.Peers) {
	only := len(s.reserved) == 1 && len(s.namespaces)+len(s.pods) == 0
	switch {
	case s.unknown:
	case only:
		// The rest of the key of a reserved label is the entity's name.
		_ = addEntity(s.reserved[0], to)
	case len(s.reserved) > 0:
	default:
		pods := snapshot.PodPeer{
			OwnNamespace: namespace != "" && len(s.namespaces) == 0, Namespaces: s.namespaces, Pods: s.pods,
		}
		if !s.cluster {
			to.Pods = append(to.Pods, pods)
			return
		}
		to.Unsure = append(to.Unsure, snapshot.UnsurePeer{
			Pods: pods, Kind: snapshot.CiliumConfigs, Why: "the name of the cluster, which " + labelCluster + " has, is not read",
		})
	}
}

// byKey orders the requirements of a selector.
func byKey(a, b snapshot.Requirement) int { return strings.Compare(a.Key, b.Key) }

// noPod is a selector that matches nothing.
func noPod() snapshot.Selector { return snapshot.Selector{{Op: snapshot.In}} }

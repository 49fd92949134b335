package cilium

import (
	"encoding/json"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// ConfigMap is a ConfigMap whose data may be the settings of Cilium. The data of
// another ConfigMap need not be valid.
type ConfigMap struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Data     json.RawMessage   `json:"data"`
}

// ConfigMaps returns the names of the ConfigMap that Cilium's agents read their
// settings from. It is in the namespace that Cilium was installed in.
func ConfigMaps() []types.NamespacedName {
	return []types.NamespacedName{
		{Namespace: "kube-system", Name: "cilium-config"},
		{Namespace: "cilium", Name: "cilium-config"},
	}
}

// AddTo adds the facts about all pods in Cilium's settings: that no policy is enforced
// ("all traffic is allowed from any source (on ingress) or destination (on egress)"; in
// audit mode "no network policy is enforced" either), or that every pod is isolated "even
// if no rules select specific endpoints". The latter is equivalent to a policy for every
// pod without rules.
//
// It may also not enforce some kinds of policies, each of which has a switch that is on by
// default (pkg/policy/k8s/cell.go; an agent parses them as Go parses a bool).
//
// A CiliumNodeConfig may override the settings for single nodes.
func (o *ConfigMap) AddTo(f *snapshot.Facts, meta snapshot.Meta) error {
	var settings map[string]string
	if len(o.Data) > 0 {
		if err := json.Unmarshal(o.Data, &settings); err != nil {
			return err
		}
	}
	mode := strings.ToLower(strings.TrimSpace(settings["enable-policy"]))
	audits := isSet(settings["policy-audit-mode"], true)
	switch {
	case mode == "never":
		f.Enforcements = append(f.Enforcements, snapshot.Enforcement{Meta: meta, Off: "enable-policy: never"})
	case audits:
		f.Enforcements = append(f.Enforcements, snapshot.Enforcement{Meta: meta, Off: "policy-audit-mode: true"})
	case mode == "always":
		f.Policies = append(f.Policies, snapshot.Policy{
			Meta: meta, Tier: snapshot.TierDefault, Order: snapshot.OrderNetworkPolicy,
			Subject: snapshot.Subject{{}}, Isolates: [2]bool{true, true},
		})
	}
	for i, s := range switches() {
		if isSet(settings[s.setting], false) {
			meta.Part = 1 + i
			f.Enforcements = append(f.Enforcements, snapshot.Enforcement{
				Meta: meta, Off: s.setting + ": false", Kind: s.kind,
			})
		}
	}
	return nil
}

// kindSwitch is a setting that says whether a kind of policies is enforced.
type kindSwitch struct {
	setting string
	kind    snapshot.Kind
}

// switches returns the settings for kinds of policies. The one for
// ClusterNetworkPolicies, which is off by default, is left out unless it is set: other
// network plugins enforce them as well.
func switches() []kindSwitch {
	return []kindSwitch{
		{"enable-k8s-networkpolicy", snapshot.NetworkPolicies},
		{"enable-cilium-network-policy", snapshot.CiliumNetworkPolicies},
		{"enable-cilium-clusterwide-network-policy", snapshot.CiliumClusterwideNetworkPolicies},
		{"enable-k8s-cluster-network-policy", snapshot.ClusterNetworkPolicies},
	}
}

// isSet reports whether a setting has a value. One that is not a bool has none.
func isSet(text string, value bool) bool {
	b, err := strconv.ParseBool(strings.TrimSpace(text))
	return err == nil && b == value
}

package cilium

import (
	"encoding/json"
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
// A CiliumNodeConfig may override the settings for single nodes.
func (o *ConfigMap) AddTo(f *snapshot.Facts, meta snapshot.Meta) error {
	var settings map[string]string
	if len(o.Data) > 0 {
		if err := json.Unmarshal(o.Data, &settings); err != nil {
			return err
		}
	}
	mode := strings.ToLower(strings.TrimSpace(settings["enable-policy"]))
	audits := strings.ToLower(strings.TrimSpace(settings["policy-audit-mode"])) == "true"
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
	return nil
}

package ingest

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// ciliumConfigKind is the kind of the ConfigMap that Cilium's agents read their
// settings from. It is in the namespace that Cilium was installed in.
func ciliumConfigKind() Custom {
	only := []types.NamespacedName{
		{Namespace: "kube-system", Name: "cilium-config"},
		{Namespace: "cilium", Name: "cilium-config"},
	}
	return Custom{
		Kind: snapshot.CiliumConfigs, Object: "ConfigMap", Versions: []string{"v1"}, Namespaced: true,
		Only: only, With: ciliumGroup,
		take: func(in *Ingester, data []byte, f *snapshot.Facts) error {
			// What other ConfigMaps hold need not even make sense.
			var o struct {
				Metadata metav1.ObjectMeta `json:"metadata"`
			}
			if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &o); err != nil {
				return err
			}
			if !slices.Contains(only, types.NamespacedName{Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}) {
				return ErrOther
			}
			var settings struct {
				Data map[string]string `json:"data"`
			}
			if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &settings); err != nil {
				return err
			}
			ciliumConfig(in.meta("", "ConfigMap", &o.Metadata), settings.Data, f)
			return nil
		},
	}
}

// ciliumConfig adds what Cilium's settings say of all pods at once: that no
// policy is enforced ("all traffic is allowed from any source (on ingress) or
// destination (on egress)"; in audit mode "no network policy is enforced"
// either), or that every pod is isolated "even if no rules select specific
// endpoints". The latter is just what a policy without rules for every pod says.
//
// A CiliumNodeConfig may say otherwise for single nodes.
func ciliumConfig(meta snapshot.Meta, settings map[string]string, f *snapshot.Facts) {
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
}

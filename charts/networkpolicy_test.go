package charts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
)

// lines formats the ports and peers of a rule.
func lines(ports []networkingv1.NetworkPolicyPort, peers []networkingv1.NetworkPolicyPeer) string {
	var out []string
	for _, p := range ports {
		out = append(out, fmt.Sprintf("%s/%s", *p.Protocol, p.Port))
	}
	for _, p := range peers {
		switch {
		case p.IPBlock != nil:
			out = append(out, p.IPBlock.CIDR)
		case p.NamespaceSelector != nil:
			out = append(out, "namespaces "+p.NamespaceSelector.String())
		}
	}
	return strings.Join(out, " ")
}

func TestNetworkPolicyAllowsWhatIsNeeded(t *testing.T) {
	const dns, server = "UDP/53 TCP/53", "TCP/443 TCP/6443"
	for _, tc := range []struct {
		name, values    string
		ingress, egress []string
	}{
		{"by default, DNS and the API server", "", nil, []string{dns, server}},
		{"metrics, in mode deployment", "mode: deployment", []string{"TCP/http"}, []string{dns, server}},
		{
			"the API server at its address", "networkPolicy: {apiServer: {cidrs: [10.0.0.1/32, 10.0.0.2/32], ports: [6443]}}",
			nil,
			[]string{dns, "TCP/6443 10.0.0.1/32 10.0.0.2/32"},
		},
		{
			"Slack", `{secrets: {slack: s}, config: {slack: {tokenFile: /var/run/secrets/audit/slack/token}}, networkPolicy: {slackCIDRs: ["0.0.0.0/0"]}}`,
			nil,
			[]string{dns, server, "TCP/443 0.0.0.0/0"},
		},
		{
			"a Pushgateway, at its port", `{config: {pushgateway: {url: "http://pushgateway.monitoring:9091"}}}`,
			nil,
			[]string{dns, server, "TCP/9091"},
		},
		{
			"a Pushgateway behind a proxy, with peers", `{config: {pushgateway: {url: "https://push.example.org/x"}}, networkPolicy: {pushgateway: [{namespaceSelector: {}}]}}`,
			nil,
			[]string{dns, server, "TCP/443 namespaces &LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{},}"},
		},
		{"a Pushgateway at the default port of HTTP", `{config: {pushgateway: {url: "http://push.example.org"}}}`, nil, []string{dns, server, "TCP/80"}},
		{"a webhook", `{config: {webhook: {url: "https://[fd00::1]:8443/audit"}}}`, nil, []string{dns, server, "TCP/8443"}},
		{"additional egress", `networkPolicy: {extraEgress: [{ports: [{protocol: TCP, port: 3128}]}]}`, nil, []string{dns, server, "TCP/3128"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec := as[networkingv1.NetworkPolicy](t, render(t, tc.values), "NetworkPolicy/audit").Spec
			if len(spec.PolicyTypes) != 2 {
				t.Errorf("isolates %v", spec.PolicyTypes)
			}
			var ingress, egress []string
			for _, r := range spec.Ingress {
				ingress = append(ingress, lines(r.Ports, r.From))
			}
			for _, r := range spec.Egress {
				egress = append(egress, lines(r.Ports, r.To))
			}
			if diff := cmp.Diff(tc.ingress, ingress); diff != "" {
				t.Errorf("ingress (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.egress, egress); diff != "" {
				t.Errorf("egress (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoNetworkPolicy(t *testing.T) {
	if render(t, "networkPolicy: {enabled: false}").objects["NetworkPolicy/audit"] != nil {
		t.Error("the NetworkPolicy is rendered")
	}
}

// TestNamespaceOfTheReleaseIsDenied: audit asks that of every namespace.
func TestNamespaceOfTheReleaseIsDenied(t *testing.T) {
	const name = "NetworkPolicy/audit-default-deny"
	spec := as[networkingv1.NetworkPolicy](t, render(t, ""), name).Spec
	if len(spec.PodSelector.MatchLabels)+len(spec.PodSelector.MatchExpressions)+len(spec.Ingress)+len(spec.Egress) > 0 || len(spec.PolicyTypes) != 2 {
		t.Errorf("%+v", spec)
	}
	if render(t, "networkPolicy: {defaultDeny: false}").objects[name] != nil {
		t.Error("it can't be turned off")
	}
}

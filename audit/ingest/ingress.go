package ingest

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// The annotations by which an Ingress claims hosts, names its class or joins a load
// balancer, as the controllers spell them.
const (
	annotationClass           = "kubernetes.io/ingress.class"
	annotationDefaultClass    = "ingressclass.kubernetes.io/is-default-class"
	annotationServerAlias     = "nginx.ingress.kubernetes.io/server-alias"
	annotationExternalDNS     = "external-dns.alpha.kubernetes.io/hostname"
	annotationExternalDNSFrom = "external-dns.alpha.kubernetes.io/ingress-hostname-source"
	annotationALBGroup        = "alb.ingress.kubernetes.io/group.name"
	annotationALBConditions   = "alb.ingress.kubernetes.io/conditions."

	labelSolver    = "acme.cert-manager.io/http01-solver"
	challengeGroup = "acme.cert-manager.io"
	challengePath  = "/.well-known/acme-challenge/"
)

// Ingress returns the fact of an Ingress.
func (in *Ingester) Ingress(o *networkingv1.Ingress) snapshot.Ingress {
	f := snapshot.Ingress{
		Meta:              in.hostsMeta(networkingv1.GroupName, "Ingress", &o.ObjectMeta, "rules"),
		DefaultOnly:       o.Spec.DefaultBackend != nil && len(o.Spec.Rules) == 0,
		LoadBalancerGroup: in.intern(o.Annotations[annotationALBGroup]),
		OwnLoadBalancer:   dedicatedMode(o.Annotations),
		Addresses:         in.addresses(o.Status.LoadBalancer.Ingress),
		SolverLabel:       o.Labels[labelSolver] == "true",
		ChallengeOwner:    ownedByChallenge(o.OwnerReferences),
		ChallengePaths:    onlyChallengePaths(&o.Spec),
	}
	// By the API's documentation the annotation takes precedence if both are set.
	if class, ok := o.Annotations[annotationClass]; ok && class != "" {
		f.Class = in.intern(class)
	} else if o.Spec.IngressClassName != nil {
		f.Class = in.intern(*o.Spec.IngressClassName)
	}
	for i := range o.Spec.Rules {
		f.Hosts = append(f.Hosts, snapshot.HostClaim{Host: o.Spec.Rules[i].Host, Source: snapshot.FromRule, Set: f.HostsSet})
	}
	annotatedHosts(&f, &o.ObjectMeta)
	for i := range o.Spec.TLS {
		f.TLSHosts = append(f.TLSHosts, o.Spec.TLS[i].Hosts...)
	}
	return f
}

// dedicatedMode reports whether annotations ask Cilium for a load balancer for the
// Ingress alone. The second annotation is an alias of the first (Cilium,
// operator/pkg/ingress/annotations); of two, the first that is there counts.
func dedicatedMode(annotations map[string]string) bool {
	mode, ok := annotations["ingress.cilium.io/loadbalancer-mode"]
	if !ok {
		mode = annotations["io.cilium.ingress/loadbalancer-mode"]
	}
	return mode == "dedicated"
}

// addresses returns the addresses of a status, normalized and sorted.
func (in *Ingester) addresses(list []networkingv1.IngressLoadBalancerIngress) []string {
	var out []string
	add := func(address string) {
		if address != "" {
			out = append(out, in.intern(address))
		}
	}
	for i := range list {
		ip := strings.TrimSpace(list[i].IP)
		if parsed, err := netip.ParseAddr(ip); err == nil {
			ip = parsed.Unmap().String()
		}
		add(ip)
		add(strings.TrimSuffix(strings.ToLower(strings.TrimSpace(list[i].Hostname)), "."))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// IngressClass returns the fact of an IngressClass.
func (in *Ingester) IngressClass(o *networkingv1.IngressClass) snapshot.IngressClass {
	return snapshot.IngressClass{
		Meta:       in.meta(networkingv1.GroupName, "IngressClass", &o.ObjectMeta),
		Controller: o.Spec.Controller,
		Default:    o.Annotations[annotationDefaultClass] == "true",
	}
}

// annotatedHosts adds the hosts that annotations claim.
func annotatedHosts(f *snapshot.Ingress, o *metav1.ObjectMeta) {
	annotations := o.Annotations
	for _, host := range strings.FieldsFunc(annotations[annotationServerAlias], commaOrBlank) {
		// A leading tilde makes nginx read a regular expression, which cannot be
		// compared with hosts.
		if strings.HasPrefix(host, "~") {
			f.Unreadable = append(f.Unreadable, regularExpression(annotationServerAlias, host))
			continue
		}
		f.Hosts = append(f.Hosts, snapshot.HostClaim{Host: host, Source: snapshot.FromServerAlias, Set: annotationSet(o, annotationServerAlias)})
	}
	// With this value, in either case, external-dns ignores its own annotation and
	// publishes the hosts of the rules only.
	if !strings.EqualFold(annotations[annotationExternalDNSFrom], "defined-hosts-only") {
		for _, host := range strings.FieldsFunc(annotations[annotationExternalDNS], commaOrBlank) {
			f.Hosts = append(f.Hosts, snapshot.HostClaim{Host: host, Source: snapshot.FromExternalDNS, Set: annotationSet(o, annotationExternalDNS)})
		}
	}
	for _, key := range keysBelow(annotations, annotationALBConditions) {
		hosts, patterns, err := hostHeaders(annotations[key])
		if err != nil {
			f.Unreadable = append(f.Unreadable, fmt.Sprintf("%s: %v", key, err))
		}
		for _, pattern := range patterns {
			f.Unreadable = append(f.Unreadable, regularExpression(key, pattern))
		}
		for _, host := range hosts {
			f.Hosts = append(f.Hosts, snapshot.HostClaim{Host: host, Source: snapshot.FromALB, Set: annotationSet(o, key)})
		}
	}
}

// keysBelow returns the keys with a prefix, sorted.
func keysBelow(annotations map[string]string, prefix string) []string {
	var keys []string
	for key := range annotations {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func regularExpression(annotation, pattern string) string {
	return fmt.Sprintf("%s: %s is a regular expression", annotation, pattern)
}

func commaOrBlank(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' || r == '\r' }

// hostHeaders returns the hosts and the regular expressions in the conditions that the AWS
// load balancer controller reads from an annotation.
func hostHeaders(conditions string) (hosts, patterns []string, err error) {
	var list []struct {
		Field            string `json:"field"`
		HostHeaderConfig struct {
			Values      []string `json:"values"`
			RegexValues []string `json:"regexValues"`
		} `json:"hostHeaderConfig"`
	}
	if err := json.Unmarshal([]byte(conditions), &list); err != nil {
		return nil, nil, fmt.Errorf("read conditions: %w", err)
	}
	for _, c := range list {
		if c.Field == "host-header" {
			hosts = append(hosts, c.HostHeaderConfig.Values...)
			patterns = append(patterns, c.HostHeaderConfig.RegexValues...)
		}
	}
	return hosts, patterns, nil
}

// ownedByChallenge reports whether cert-manager's Challenge owns the object.
func ownedByChallenge(refs []metav1.OwnerReference) bool {
	return slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool {
		return r.Kind == "Challenge" && groupOf(r.APIVersion) == challengeGroup
	})
}

// onlyChallengePaths reports whether an Ingress routes nothing but the answers to ACME
// challenges: each path is one token below the well-known path. The well-known path
// itself would catch the challenges of other hosts' owners, and a token with other
// characters could be a pattern that matches more.
func onlyChallengePaths(spec *networkingv1.IngressSpec) bool {
	if spec.DefaultBackend != nil || len(spec.Rules) == 0 {
		return false
	}
	for _, rule := range spec.Rules {
		if rule.HTTP == nil || len(rule.HTTP.Paths) == 0 {
			return false
		}
		for _, p := range rule.HTTP.Paths {
			token, ok := strings.CutPrefix(p.Path, challengePath)
			if !ok || token == "" || strings.ContainsFunc(token, notBase64URL) {
				return false
			}
		}
	}
	return true
}

func notBase64URL(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
}

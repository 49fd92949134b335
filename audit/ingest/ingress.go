package ingest

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// The annotations by which an Ingress names its class or joins a load balancer, as the
// controllers spell them. Those by which it claims hosts are in snapshot.Aliases.
const (
	annotationClass        = "kubernetes.io/ingress.class"
	annotationDefaultClass = "ingressclass.kubernetes.io/is-default-class"
	annotationALBGroup     = "alb.ingress.kubernetes.io/group.name"
	annotationEntryPoints  = "traefik.ingress.kubernetes.io/router.entrypoints"
	annotationPriority     = "traefik.ingress.kubernetes.io/router.priority"

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
		f.Class, f.ClassAnnotated = in.intern(class), true
	} else if o.Spec.IngressClassName != nil {
		f.Class = in.intern(*o.Spec.IngressClassName)
	}
	in.addRouter(&f, o)
	hosts := make([]string, len(o.Spec.Rules))
	for i := range o.Spec.Rules {
		hosts[i] = o.Spec.Rules[i].Host
	}
	addHosts(&f, snapshot.FromRule, "spec.rules", f.HostsSet, hosts)
	in.addAnnotated(&f, &o.ObjectMeta)
	for i := range o.Spec.TLS {
		f.TLSHosts = append(f.TLSHosts, o.Spec.TLS[i].Hosts...)
	}
	return f
}

// addRouter adds what the routers have in common that Traefik makes of an Ingress
// (pkg/provider/kubernetes/ingress). One that has only a default backend comes after all
// others.
func (in *Ingester) addRouter(f *snapshot.Ingress, o *networkingv1.Ingress) {
	if named, ok := o.Annotations[annotationEntryPoints]; ok {
		for _, name := range strings.Split(named, ",") {
			if name = strings.TrimSpace(name); name != "" {
				f.EntryPoints = append(f.EntryPoints, in.intern(name))
			}
		}
	}
	if priority, ok := o.Annotations[annotationPriority]; ok {
		f.Priority, _ = strconv.Atoi(priority)
	}
	for i := range o.Spec.Rules {
		rule := &o.Spec.Rules[i]
		if rule.Host != "" || rule.HTTP == nil {
			continue
		}
		for _, p := range rule.HTTP.Paths {
			matcher := "PathPrefix"
			if p.PathType != nil && *p.PathType == networkingv1.PathTypeExact {
				matcher = "Path"
			}
			f.EveryHostRule = max(f.EveryHostRule, len(matcher)+len("(``)")+len(p.Path))
		}
	}
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
	f := snapshot.IngressClass{
		Meta:       in.meta(networkingv1.GroupName, "IngressClass", &o.ObjectMeta),
		Controller: o.Spec.Controller,
		Default:    o.Annotations[annotationDefaultClass] == "true",
	}
	if p := o.Spec.Parameters; p != nil {
		f.Parameters = snapshot.Ref{Kind: p.Kind, Name: p.Name}
		if p.APIGroup != nil {
			f.Parameters.Group = *p.APIGroup
		}
		if p.Namespace != nil {
			f.Parameters.Namespace = *p.Namespace
		}
	}
	return f
}

// ingressClassParams has the fields of IngressClassParams that matter here. They are the
// same in both groups.
type ingressClassParams struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Group *struct {
			Name string `json:"name"`
		} `json:"group"`
	} `json:"spec"`
}

// ingressClassParamsKinds are the parameters of the classes of the AWS controllers.
func ingressClassParamsKinds() []Custom {
	params := func(kind snapshot.Kind, version string) Custom {
		return Custom{
			Kind: kind, Object: "IngressClassParams", Versions: []string{version},
			take: decoded(func(in *Ingester, o *ingressClassParams, f *snapshot.Facts) error {
				p := snapshot.IngressClassParams{Meta: in.meta(kind.Group(), "IngressClassParams", &o.Metadata)}
				if o.Spec.Group != nil {
					p.Group, p.Grouped = o.Spec.Group.Name, true
				}
				f.ClassParams = append(f.ClassParams, p)
				return nil
			}),
		}
	}
	return []Custom{params(snapshot.AWSIngressClassParams, "v1beta1"), params(snapshot.EKSIngressClassParams, "v1")}
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

package snapshot

import (
	"slices"
	"strings"
)

// Alias is an annotation by which an Ingress claims hosts beside those of its rules.
type Alias struct {
	// Annotation is the key. If it ends with a dot, it is the beginning of the key.
	Annotation string
	Source     HostSource
	Form       AliasForm
}

// AliasForm says how the value of an annotation names hosts.
type AliasForm int

// The forms of values.
const (
	// AliasList is hosts separated by commas or blanks. A leading tilde makes one a
	// regular expression.
	AliasList AliasForm = iota
	// AliasPattern is one regular expression.
	AliasPattern
	// AliasConditions is the JSON of the conditions of a cloud's load balancer.
	AliasConditions
)

// Aliases returns the annotations that claim hosts, of all controllers. Those of
// external-dns are not among them: it reads Ingresses of every class, below a prefix
// that is configured.
//
//   - ingress-nginx: docs/user-guide/nginx-configuration/annotations.md, server-alias
//   - HAProxy Ingress (jcmoraisjr): docs, configuration keys, server-alias and
//     redirect; the two prefixes are the default of --annotations-prefix
//   - Kong: github.com/Kong/kubernetes-ingress-controller, internal/annotations
//   - Application Gateway Ingress Controller: docs/annotations.md, hostname-extension
//   - AWS Load Balancer Controller: docs/guide/ingress/annotations.md, conditions;
//     Alibaba Cloud's ALB Ingress has the same key with fields of its own
func Aliases() []Alias {
	return []Alias{
		{"nginx.ingress.kubernetes.io/server-alias", FromServerAlias, AliasList},
		{"haproxy-ingress.github.io/server-alias", FromHAProxyAlias, AliasList},
		{"haproxy-ingress.github.io/server-alias-regex", FromHAProxyAlias, AliasPattern},
		{"haproxy-ingress.github.io/redirect-from", FromHAProxyRedirect, AliasList},
		{"haproxy-ingress.github.io/redirect-from-regex", FromHAProxyRedirect, AliasPattern},
		{"ingress.kubernetes.io/server-alias", FromHAProxyAlias, AliasList},
		{"ingress.kubernetes.io/server-alias-regex", FromHAProxyAlias, AliasPattern},
		{"ingress.kubernetes.io/redirect-from", FromHAProxyRedirect, AliasList},
		{"ingress.kubernetes.io/redirect-from-regex", FromHAProxyRedirect, AliasPattern},
		{"konghq.com/host-aliases", FromKongAliases, AliasList},
		{"appgw.ingress.kubernetes.io/hostname-extension", FromHostnameExtension, AliasList},
		{"alb.ingress.kubernetes.io/conditions.", FromALB, AliasConditions},
	}
}

// The controllers of the AWS Load Balancer Controller, and of the one that EKS Auto
// Mode has built in.
const (
	ControllerAWS = "ingress.k8s.aws/alb"
	ControllerEKS = "eks.amazonaws.com/alb"
)

// IngressController is a controller of Ingresses whose annotations are known.
type IngressController struct {
	// Name is the spec.controller of its IngressClasses, or what comes before a slash
	// in it.
	Name string
	// classes are the class names that it takes for its own without an IngressClass.
	classes []string
	// reads are the annotations by which an Ingress claims hosts from it.
	reads []HostSource
}

// ingressControllers are the controllers whose annotations are known from their source
// or documentation. Whether a controller reads the annotations of another is not
// evident from any object, so this is a list; a controller that is missing here may
// read all of them.
//
//   - ingress-nginx: internal/ingress/controller/ingressclass, DefaultControllerName
//   - HAProxy Ingress: pkg/controller/config/config.go, controllerName
//   - Kong: internal/store/store.go, IngressClassKongController
//   - Application Gateway: helm/ingress-azure, ingressclass.yaml
//   - AWS: pkg/ingress/class_loader.go and class_annotation_matcher.go
//   - GKE: docs.cloud.google.com/kubernetes-engine/docs/concepts/ingress; its classes
//     need no IngressClass, and its annotations name no host
//   - HAProxy Technologies: pkg/store, CONTROLLER; its annotations name no host
//   - NGINX Inc: internal/configs/annotations.go, which names no host
//   - Cilium, Contour, Istio, OpenShift, Tailscale and Traefik: the pages of their
//     annotations, which name no host
func ingressControllers() []IngressController {
	return []IngressController{
		{Name: "k8s.io/ingress-nginx", reads: []HostSource{FromServerAlias}},
		{Name: "haproxy-ingress.github.io/controller", reads: []HostSource{FromHAProxyAlias, FromHAProxyRedirect}},
		{Name: "ingress-controllers.konghq.com/kong", reads: []HostSource{FromKongAliases}},
		{Name: "azure/application-gateway", classes: []string{"azure/application-gateway"}, reads: []HostSource{FromHostnameExtension}},
		{Name: ControllerAWS, classes: []string{"alb"}, reads: []HostSource{FromALB}},
		{Name: ControllerEKS, reads: []HostSource{FromALB}},
		{Name: "cilium.io/ingress-controller"},
		{Name: "haproxy.org/ingress-controller"},
		{Name: "istio.io/ingress-controller"},
		{Name: "k8s.io/ingress-gce", classes: []string{"gce", "gce-internal"}},
		{Name: "nginx.org/ingress-controller"},
		{Name: "openshift.io/ingress-to-route"},
		{Name: "projectcontour.io"},
		{Name: "tailscale.com/ts-ingress"},
		{Name: "traefik.io/ingress-controller"},
	}
}

// FindIngressController returns the controller of a class, or nil if it is not known.
// The name of the controller is empty if the class has no IngressClass.
func FindIngressController(class, controller string) *IngressController {
	for _, c := range ingressControllers() {
		rest, ok := strings.CutPrefix(controller, c.Name)
		if ok && (rest == "" || rest[0] == '/') || controller == "" && slices.Contains(c.classes, class) {
			return &c
		}
	}
	return nil
}

// Reads reports whether the controller may read hosts from a field or an annotation. A
// nil controller, which is not known, may read any. All controllers read the spec, and
// external-dns reads Ingresses of every class.
func (c *IngressController) Reads(source HostSource) bool {
	switch source {
	case FromRule, FromDefault, FromExternalDNS:
		return true
	}
	return c == nil || slices.Contains(c.reads, source)
}

package redteam

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// The namespaces that are not the tenants'.
const (
	mallory  = "mallory" // the attacker's
	platform = "platform"
)

// start is the time of the first sweep.
var start = time.Date(2027, 3, 1, 9, 0, 0, 0, time.UTC)

// estate is a cluster without the attacker: its objects, and who has which host.
type estate struct {
	all   []object
	hosts []held
	// everyHost are the catch-alls of proxies, by the subject of a finding on them.
	everyHost []held
	open      map[string]bool // namespaces that have no default-deny policy
	// unowned is true if nobody owns the attacker's namespace.
	unowned bool
}

// held is a host of a tenant.
type held struct {
	host      string
	namespace string
	owner     string
	by        string // the name of the claim that serves it
	object    object // the first of its objects
}

// newEstate returns a random estate. Every host has one owner, and every namespace except
// those in open denies by default.
func newEstate(r *rand.Rand) *estate {
	e := &estate{open: map[string]bool{}, unowned: r.IntN(4) == 0}
	old := start.Add(-60 * 24 * time.Hour)
	add := func(objects ...object) {
		for _, o := range objects {
			o.created(old)
			old = old.Add(time.Hour)
			e.all = append(e.all, o)
		}
	}
	add(shared()...)
	owner := "{owner: mallory}"
	if e.unowned {
		owner = "{}"
	}
	add(parse("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: %s}, status: {phase: Active}}", mallory, owner))
	for i := range 2 + r.IntN(3) {
		ns, owner := fmt.Sprintf("team-%c", 'a'+i), []string{"alpha", "beta", "gamma", "delta"}[i]
		add(parse("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {owner: %s}}, status: {phase: Active}}", ns, owner))
		add(workload(ns, "web")...)
		if e.open[ns] = i > 0 && r.IntN(4) == 0; !e.open[ns] {
			add(denied(ns)...)
		}
		for range 1 + r.IntN(2) {
			host := fmt.Sprintf("shop-%d.%s", len(e.hosts), []string{"example.com", "example.org", "xn--mnchen-3ya.example"}[r.IntN(3)])
			c := claims()[r.IntN(len(claims()))]
			objects := c.objects(r, ns, fmt.Sprintf("web-%d", len(e.hosts)), host)
			add(objects...)
			e.hosts = append(e.hosts, held{host, ns, owner, c.name, objects[0]})
		}
	}
	fallback, route := everyHost("team-a", "fallback"), everyRoute("team-a", "fallback-route")
	add(fallback, route)
	e.everyHost = []held{
		{"* (class other)", "team-a", "alpha", "a fallback", fallback},
		{"* (gateway " + platform + "/edge)", "team-a", "alpha", "a fallback", route},
	}
	return e
}

// shared returns what the platform's team has set up: proxies that serve every namespace.
func shared() []object {
	objects := []object{
		parse("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {owner: platform}}, status: {phase: Active}}", platform),
		parse(`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: %s}
spec:
  gatewayClassName: shared
  allowedListeners: {namespaces: {from: All}}
  listeners:
    - {name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
    - {name: tls, port: 443, protocol: TLS, tls: {mode: Passthrough}, allowedRoutes: {namespaces: {from: All}}}`, platform),
		parse(`
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: public, namespace: %s}
spec: {selector: {istio: ingressgateway}, servers: [{port: {number: 80, name: http, protocol: HTTP}, hosts: ["*/*"]}]}`, platform),
	}
	objects = append(objects, parse("{apiVersion: projectcalico.org/v3, kind: Tier, metadata: {name: security}, spec: {order: 100}}"))
	for name, controller := range controllers() {
		objects = append(objects, parse("{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: %s}, spec: {controller: %s}}", name, controller))
	}
	return objects
}

// controllers are the classes of Ingresses.
func controllers() map[string]string {
	return map[string]string{
		"nginx": "k8s.io/ingress-nginx", "traefik": "traefik.io/ingress-controller", "haproxy": "haproxy-ingress.github.io/controller",
		"kong": "ingress-controllers.konghq.com/kong", "alb": "ingress.k8s.aws/alb", "other": "example.com/controller",
	}
}

// workload returns a Deployment with its pods.
func workload(ns, name string) []object {
	d := parse(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[2]s, namespace: %[1]s}
spec: {selector: {matchLabels: {app: %[2]s}}, template: {metadata: {labels: {app: %[2]s}}, spec: {containers: [{name: main, image: "registry.example/main:1"}]}}}`, ns, name)
	rs := parse(`
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: %[2]s-5d8f9, namespace: %[1]s, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: %[2]s, uid: u, controller: true}]}
spec: {selector: {matchLabels: {app: %[2]s}}, template: {metadata: {labels: {app: %[2]s}}, spec: {containers: [{name: main, image: "registry.example/main:1"}]}}}`, ns, name)
	pod := parse(`
apiVersion: v1
kind: Pod
metadata: {name: %[2]s-5d8f9-x7k2p, namespace: %[1]s, labels: {app: %[2]s}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: %[2]s-5d8f9, uid: u, controller: true}]}
spec: {nodeName: node-1, containers: [{name: main, image: "registry.example/main:1"}]}
status: {phase: Running, podIP: 10.0.0.7}`, ns, name)
	d.created(start.Add(-time.Hour * 1000))
	rs.created(start.Add(-time.Hour * 900))
	owned(rs, d)
	owned(pod, rs)
	return []object{d, rs, pod}
}

// owned makes an object the controller of another.
func owned(o, by object) {
	refs := o.meta()["ownerReferences"].([]any)
	refs[0].(map[string]any)["uid"] = by.meta()["uid"]
}

// denied returns policies that deny everything but DNS, and allow the workload web to be
// reached from its own namespace.
func denied(ns string) []object {
	return []object{
		parse("{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: deny, namespace: %s}, spec: {podSelector: {}, policyTypes: [Ingress, Egress]}}", ns),
		parse(`
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: dns, namespace: %s}
spec:
  podSelector: {}
  policyTypes: [Ingress, Egress]
  ingress: [{from: [{podSelector: {}}]}]
  egress: [{to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}}], ports: [{port: 53, protocol: UDP}]}]`, ns),
	}
}

package redteam

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// trick is a disguise. It may not end the theft, or its truth would be another.
type trick struct {
	name string
	doc  string
	// fits reports whether there is something to disguise; nil if there always is.
	fits  func(a *attack) bool
	apply func(r *rand.Rand, a *attack)
}

// each returns a trick that changes each object that takes the host or opens the namespace, from
// some sweep on.
func each(name, doc string, change func(r *rand.Rand, a *attack, s *step, o object)) trick {
	return trick{name: name, doc: doc, apply: func(r *rand.Rand, a *attack) {
		for _, s := range a.from(r) {
			for _, o := range s.loot {
				change(r, a, s, o)
			}
		}
	}}
}

func (a *attack) steals() bool { return a.victim.host != "" }

// tricks are the disguises, by name.
func tricks() []trick {
	all := slices.Concat(deletions(), marks(), noise())
	slices.SortFunc(all, func(a, b trick) int { return strings.Compare(a.name, b.name) })
	return all
}

// floods are tricks that take their time.
func floods() []trick {
	return []trick{{name: "flooded", doc: "the namespace has more hosts than are kept of it", apply: func(_ *rand.Rand, a *attack) {
		var all []object
		for i := range 12 {
			o := ingressOf(mallory, fmt.Sprintf("a-flood-%d", i), "nginx", "flood.example")
			rules := make([]any, 1900)
			for j := range rules {
				rules[j] = map[string]any{"host": fmt.Sprintf("h%d.%d.flood.example", j, i)}
			}
			o.spec()["rules"] = rules
			o.created(a.steps[0].at.Add(-time.Hour))
			all = append(all, o)
		}
		for _, s := range a.steps[1:] {
			s.objects = append(slices.Clone(all), s.objects...)
		}
	}}}
}

// deletions pretend that something is gone.
func deletions() []trick {
	return []trick{
		each("held", "the object is deleted, and a finalizer keeps it", func(_ *rand.Rand, a *attack, s *step, o object) {
			o.deleted(a.steps[1].at.Add(-time.Minute), "example.com/keep")
		}),
		each("held anew", "the object is deleted a minute before each sweep, and another one is created when it goes", func(_ *rand.Rand, _ *attack, s *step, o object) {
			o.created(s.at.Add(-2 * time.Minute))
			o.deleted(s.at.Add(-time.Minute), "foregroundDeletion")
		}),
		each("held for long", "the object was deleted long ago", func(_ *rand.Rand, _ *attack, s *step, o object) {
			o.deleted(start.Add(-3*24*time.Hour), "example.com/keep")
		}),
		{name: "renamed", doc: "the object has another name in each sweep", apply: func(r *rand.Rand, a *attack) {
			for i, s := range a.steps {
				for _, o := range s.loot {
					if o.kind() == "DomainMapping" || o.kind() == "Gateway" {
						continue // its name is what is stolen, or referred to
					}
					o.meta()["name"] = fmt.Sprintf("%s-%d", o.name(), i)
					o.created(s.at.Add(-time.Minute))
				}
			}
		}},
		{name: "terminating", doc: "the namespace is deleted, and something holds it", apply: func(r *rand.Rand, a *attack) {
			since := start.Add(-time.Duration(r.IntN(200)) * time.Minute)
			for _, s := range a.from(r) {
				s.ending = since
				if s.ending.After(s.at) {
					s.ending = s.at.Add(-time.Minute)
				}
			}
		}},
		{name: "absent for a while", doc: "the theft is interrupted for one sweep", fits: (*attack).steals, apply: func(r *rand.Rand, a *attack) {
			s := a.steps[1+r.IntN(len(a.steps)-1)]
			s.drop()
			s.stolen = false
		}},
		{name: "another claim", doc: "the host is taken by another kind in each sweep", fits: func(a *attack) bool { return a.steals() && a.victim.by != "a fallback" }, apply: func(r *rand.Rand, a *attack) {
			for i, s := range a.steps[1:] {
				if i%2 == 0 {
					continue
				}
				s.drop()
				c := claims()[r.IntN(len(claims()))]
				objects := c.objects(r, mallory, "annex", a.victim.host)
				for _, o := range objects {
					o.created(s.at.Add(-time.Minute))
				}
				s.use(objects...)
				s.stolen = true
			}
		}},
	}
}

// marks are what a tenant may write about an object.
func marks() []trick {
	return []trick{
		each("signed", "the object names the victim as its owner", func(r *rand.Rand, a *attack, _ *step, o object) {
			key := []string{"owner", "team", "app.kubernetes.io/owner"}[r.IntN(3)]
			o.label(key, a.victim.owner)
			o.annotate("a8r.io/owner", a.victim.owner)
		}),
		each("adopted", "the object names an object of the victim as its controller", func(_ *rand.Rand, a *attack, _ *step, o object) {
			by := a.victim.object
			if by == nil {
				by = a.estate.all[0]
			}
			o.meta()["ownerReferences"] = []any{map[string]any{
				"apiVersion": by["apiVersion"], "kind": by.kind(), "name": by.name(), "uid": by.meta()["uid"], "controller": true,
			}}
		}),
		each("solver", "the object looks like the solver of an ACME challenge", func(_ *rand.Rand, _ *attack, _ *step, o object) {
			o.label("acme.cert-manager.io/http01-solver", "true")
			o.label("acme.cert-manager.io/http-domain", "1203345")
			o.label("acme.cert-manager.io/http-token", "99120")
			kind, version := "Challenge", "acme.cert-manager.io/v1"
			if o.kind() == "Route" {
				kind, version = "Ingress", "networking.k8s.io/v1"
				o.spec()["path"] = "/.well-known/acme-challenge/tHe_t0ken"
			}
			o.meta()["ownerReferences"] = []any{map[string]any{
				"apiVersion": version, "kind": kind, "name": "shop-tls-1-2", "uid": "663683f2-0278-5cd4-9b94-5821c788af7c", "controller": true,
			}}
			switch o.kind() {
			case "Ingress":
				rules, _ := o.spec()["rules"].([]any) // none with a default backend
				for _, rule := range rules {
					rule.(map[string]any)["http"] = map[string]any{"paths": []any{map[string]any{
						"path": "/.well-known/acme-challenge/tHe_t0ken", "pathType": "Exact",
						"backend": map[string]any{"service": map[string]any{"name": "cm-acme-http-solver-x", "port": map[string]any{"number": 8089}}},
					}}}
				}
			case "HTTPRoute":
				o.spec()["rules"] = []any{map[string]any{
					"matches":     []any{map[string]any{"path": map[string]any{"type": "Exact", "value": "/.well-known/acme-challenge/tHe_t0ken"}}},
					"backendRefs": []any{map[string]any{"name": "cm-acme-http-solver-x", "port": 8089}},
				}}
			}
		}),
		each("canary", "the object calls itself a canary", func(_ *rand.Rand, _ *attack, _ *step, o object) {
			o.annotate("nginx.ingress.kubernetes.io/canary", "true")
			o.annotate("nginx.ingress.kubernetes.io/canary-weight", "100")
		}),
		each("copied", "the object looks as if a mesh or a platform had made it", func(_ *rand.Rand, _ *attack, _ *step, o object) {
			o.label("serving.knative.openshift.io/ingressNamespace", "team-a")
			o.label("argocd.argoproj.io/instance", "shop")
			o.label("app.kubernetes.io/managed-by", "Helm")
			o.annotate("helm.sh/hook", "pre-delete")
			o.annotate("kubectl.kubernetes.io/last-applied-configuration", "{}")
		}),
		each("other controller", "annotations say that somebody else is meant", func(_ *rand.Rand, a *attack, _ *step, o object) {
			if a.by == "name of external-dns" {
				return // it would not be published
			}
			o.annotate("external-dns.alpha.kubernetes.io/controller", "nobody")
			o.annotate("external-dns.kubernetes.io/controller", "nobody")
			o.annotate("external-dns.kubernetes.io/ingress-hostname-source", "annotation-only")
		}),
		each("another class", "the class is named in an annotation as well", func(r *rand.Rand, _ *attack, _ *step, o object) {
			o.annotate("kubernetes.io/ingress.class", text(o.spec(), "ingressClassName"))
		}),
		each("other classes", "the class of an Ingress changes from sweep to sweep", func(r *rand.Rand, a *attack, _ *step, o object) {
			if strings.HasPrefix(a.by, "Ingress ") && a.victim.by != "a fallback" && o.kind() == "Ingress" && !strings.Contains(a.by, "goes first") {
				o.spec()["ingressClassName"] = []string{"nginx", "traefik", "nobody", "haproxy", "alb"}[r.IntN(5)]
			}
		}),
		each("hidden", "the object is exported to nobody", func(_ *rand.Rand, _ *attack, _ *step, o object) {
			if o.kind() == "VirtualService" {
				o.spec()["exportTo"] = []any{"."}
			}
		}),
		each("padded", "the object is large", func(_ *rand.Rand, _ *attack, _ *step, o object) {
			o.annotate("example.com/padding", strings.Repeat("x", 200<<10))
		}),
		each("buried", "the host is the last of more hosts than are kept", func(_ *rand.Rand, _ *attack, _ *step, o object) {
			hosts := make([]any, 2100)
			for i := range hosts {
				hosts[i] = fmt.Sprintf("h%d.buried.example", i)
			}
			switch own, _ := o.spec()["hosts"].([]any); {
			case len(own) > 0:
				o.spec()["hosts"] = append(hosts, own...)
			case o.kind() == "Ingress":
				rules, _ := o.spec()["rules"].([]any)
				more := make([]any, len(hosts))
				for i := range hosts {
					more[i] = map[string]any{"host": hosts[i]}
				}
				o.spec()["rules"] = append(more, rules...)
			}
		}),
		each("restored", "managed fields say that nothing was changed for a year", func(_ *rand.Rand, _ *attack, _ *step, o object) {
			o.meta()["managedFields"] = []any{map[string]any{
				"apiVersion": o["apiVersion"], "manager": "kubectl", "operation": "Update", "time": "2026-01-01T00:00:00Z",
				"fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{}},
			}}
		}),
	}
}

// noise is what else an attacker has, that is no theft.
func noise() []trick {
	beside := func(name, doc string, objects func(r *rand.Rand, a *attack, s *step) []object) trick {
		return trick{name: name, doc: doc, apply: func(r *rand.Rand, a *attack) {
			for _, s := range a.from(r) {
				for _, o := range objects(r, a, s) {
					if _, ok := o.meta()["creationTimestamp"]; !ok {
						o.created(a.steps[0].at.Add(-time.Hour))
					}
					s.add(o)
				}
			}
		}}
	}
	one := func(name, doc, format string) trick {
		return beside(name, doc, func(*rand.Rand, *attack, *step) []object { return []object{parse(format, mallory)} })
	}
	return []trick{
		beside("decoys", "many hosts of its own look as if they were stolen", func(r *rand.Rand, a *attack, _ *step) []object {
			var out []object
			for i := range 40 {
				out = append(out, ingressOf(mallory, fmt.Sprintf("decoy-%d", i), "nginx", fmt.Sprintf("%s.%d.decoys.example", []string{"*", "www"}[i%2], i)))
			}
			return out
		}),
		one("poisoned port", "a policy of Calico with a port that no number holds",
			"{apiVersion: crd.projectcalico.org/v1, kind: NetworkPolicy, metadata: {name: default.flood, namespace: %s}, spec: {order: 1, selector: all(), types: [Egress], egress: [{action: Allow, protocol: TCP, destination: {ports: [5000000000]}}]}}"),
		one("poisoned selector", "a policy of Calico with a selector that does not parse",
			"{apiVersion: crd.projectcalico.org/v1, kind: NetworkPolicy, metadata: {name: default.flood, namespace: %s}, spec: {selector: 'a == (', types: [Ingress], ingress: [{action: Allow}]}}"),
		one("poisoned list", "a policy of Calico whose rules are a number",
			"{apiVersion: projectcalico.org/v3, kind: NetworkPolicy, metadata: {name: flood, namespace: %s}, spec: {selector: all(), types: [Ingress], ingress: 7}}"),
		one("poisoned policy of Cilium", "a policy of Cilium whose fields have wrong types",
			"{apiVersion: cilium.io/v2, kind: CiliumNetworkPolicy, metadata: {name: flood, namespace: %s}, spec: {endpointSelector: [], ingress: {fromEntities: 3}, egress: [{toPorts: [{ports: [{port: '-1'}]}]}]}}"),
		one("poisoned route", "a VirtualService whose hosts are numbers",
			"{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: flood, namespace: %s}, spec: {hosts: [1, {a: b}], gateways: {x: y}}}"),
		one("poisoned Gateway", "a Gateway of Istio whose servers are a text",
			"{apiVersion: networking.istio.io/v1, kind: Gateway, metadata: {name: flood, namespace: %s}, spec: {servers: all}}"),
		one("poisoned rule", "an IngressRoute with a rule that does not parse",
			"{apiVersion: traefik.io/v1alpha1, kind: IngressRoute, metadata: {name: flood, namespace: %s}, spec: {routes: [{match: 'Host(`a.example`) ||'}, {match: 5}]}}"),
		one("unread kind", "an object of a kind that carries hosts and is not read",
			"{apiVersion: getambassador.io/v3alpha1, kind: Host, metadata: {name: flood, namespace: %s}, spec: {hostname: nobody.example.com}}"),
		one("unsupported policy", "a policy of a kind that is not supported",
			"{apiVersion: crd.antrea.io/v1beta1, kind: NetworkPolicy, metadata: {name: flood, namespace: %s}, spec: {tier: emergency, priority: 1, appliedTo: [{podSelector: {}}]}}"),
		beside("forged pod", "a pod in the network of the host that calls the victim's Deployment its controller", func(r *rand.Rand, a *attack, _ *step) []object {
			return []object{parse(`
apiVersion: v1
kind: Pod
metadata: {name: agent, namespace: %s, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: 663683f2-0278-5cd4-9b94-5821c788af7c, controller: true}]}
spec: {hostNetwork: true, containers: [{name: main, image: "registry.example/main:1"}]}
status: {phase: Pending}`, mallory)}
		}),
		beside("many hosts", "an object with more hosts than are kept", func(r *rand.Rand, a *attack, _ *step) []object {
			hosts := make([]any, 6000)
			for i := range hosts {
				hosts[i] = fmt.Sprintf("h%d.flood.example", i)
			}
			o := parse("{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: many, namespace: %s}, spec: {gateways: [%s/public]}}", mallory, platform)
			o.spec()["hosts"] = hosts
			return []object{o}
		}),
	}
}

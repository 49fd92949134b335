package redteam

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
)

// rolling is an estate that changes as healthy ones do.
type rolling struct {
	*estate
	now     time.Time
	r       *rand.Rand
	passing []object // what is there during the next sweep only
	hidden  map[string]bool
	n       int
}

// TestNormalEstateOpensNothing sweeps an estate 200 times while certificates are renewed,
// objects are deleted and created again, pods come and go, and hosts move. No finding is
// opened, no one is notified, and every sweep is complete.
func TestNormalEstateOpensNothing(t *testing.T) {
	const sweeps = 200
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newRolling(seed)
			c := newCluster()
			for i := range sweeps {
				var happened []string
				for range 1 + w.r.IntN(3) {
					happened = append(happened, w.happen())
				}
				res, _ := c.publish(t, of(w.objects()), w.now)
				for _, s := range c.store.by {
					if s.State != audit.StatePending {
						t.Fatalf("sweep %d, after %q: %s is %s: %s", i, happened, s.Subject, s.State, s.Message)
					}
				}
				if c.sent > 0 || !res.Complete() {
					t.Fatalf("sweep %d, after %q: %d notifications, failures %v", i, happened, c.sent, res.Failures())
				}
				w.now = w.now.Add(10 * time.Minute)
				w.passing, w.hidden = nil, map[string]bool{}
			}
		})
	}
}

// newRolling returns an estate in which everything is right.
func newRolling(seed uint64) *rolling {
	r := rand.New(rand.NewPCG(seed, 7))
	for {
		e := newEstate(r)
		if slices.ContainsFunc(e.hosts, func(h held) bool { return e.open[h.namespace] }) || len(e.open) < 3 {
			continue
		}
		e.all = slices.DeleteFunc(e.all, func(o object) bool { return o.kind() == "Namespace" && o.name() == mallory })
		return &rolling{estate: e, now: start, r: r, hidden: map[string]bool{}}
	}
}

// objects returns what is there.
func (w *rolling) objects() []object {
	out := slices.Clone(w.passing)
	for _, o := range w.all {
		if !w.hidden[o.id()] {
			out = append(out, o)
		}
	}
	return out
}

// happen lets something happen, and says what.
func (w *rolling) happen() string {
	w.n++
	events := []struct {
		name string
		do   func()
	}{
		{"a certificate is renewed", w.renew},
		{"a certificate of a Gateway is renewed", w.renewAtGateway},
		{"pods are replaced", w.replacePods},
		{"a Deployment is rolled out", w.rollOut},
		{"a job runs", w.runJob},
		{"an object is deleted and created again", w.recreate},
		{"an object is deleted in the foreground", w.deleteInForeground},
		{"an object is away", w.takeAway},
		{"a host moves to another kind of its owner", w.migrate},
		{"a host moves to another owner", w.handOver},
		{"a namespace ends", w.endNamespace},
		{"labels change", w.relabel},
	}
	e := events[w.r.IntN(len(events))]
	e.do()
	return e.name
}

func (w *rolling) pass(objects ...object) {
	for _, o := range objects {
		if _, ok := o.meta()["creationTimestamp"]; !ok {
			o.created(w.now.Add(-time.Minute))
		}
		w.passing = append(w.passing, o)
	}
}

func (w *rolling) someHost() held { return w.hosts[w.r.IntN(len(w.hosts))] }

// solver returns what cert-manager creates to answer a challenge.
func (w *rolling) solver(ns, host string, gateway bool) object {
	const owner = "labels: {acme.cert-manager.io/http-domain: '1203345', acme.cert-manager.io/http-token: '99120', acme.cert-manager.io/http01-solver: 'true'}, ownerReferences: [{apiVersion: acme.cert-manager.io/v1, kind: Challenge, name: shop-tls-1-2-3, uid: 663683f2-0278-5cd4-9b94-5821c788af7c, controller: true, blockOwnerDeletion: true}]"
	if gateway {
		return parse("{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {namespace: %s, name: cm-acme-http-solver-%d, "+owner+"}, spec: {parentRefs: [{name: edge, namespace: %s}], hostnames: [%s], rules: [{matches: [{path: {type: Exact, value: /.well-known/acme-challenge/tHe_t0ken}}], backendRefs: [{name: cm-acme-http-solver-x, port: 8089}]}]}}",
			ns, w.n, platform, host)
	}
	return parse("{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {namespace: %s, name: cm-acme-http-solver-%d, "+owner+"}, spec: {ingressClassName: nginx, rules: [{host: %s, http: {paths: [{path: /.well-known/acme-challenge/tHe_t0ken, pathType: Exact, backend: {service: {name: cm-acme-http-solver-x, port: {number: 8089}}}}]}}]}}",
		ns, w.n, host)
}

func (w *rolling) renew() {
	h := w.someHost()
	if !w.hidden[h.object.id()] {
		w.pass(w.solver(h.namespace, h.host, w.r.IntN(2) == 0))
	}
}

func (w *rolling) renewAtGateway() {
	for _, h := range w.hosts {
		if h.object.kind() == "HTTPRoute" && !w.hidden[h.object.id()] {
			w.pass(w.solver(platform, h.host, true))
			return
		}
	}
}

// each calls a function for each object of a kind.
func (w *rolling) each(kind string, do func(o object)) {
	for _, o := range w.all {
		if o.kind() == kind {
			do(o)
		}
	}
}

func (w *rolling) replacePods() {
	w.each("Pod", func(o object) {
		o.meta()["name"] = fmt.Sprintf("web-5d8f9-%05d", w.r.IntN(100000))
		o.created(w.now.Add(-time.Duration(w.r.IntN(500)) * time.Second))
	})
}

func (w *rolling) rollOut() {
	w.each("ReplicaSet", func(o object) {
		if w.r.IntN(2) > 0 {
			return
		}
		o.meta()["name"] = fmt.Sprintf("web-%d", w.n)
		o.created(w.now.Add(-time.Minute))
		w.each("Pod", func(p object) {
			if p.namespace() == o.namespace() {
				p.meta()["name"] = fmt.Sprintf("web-%d-%05d", w.n, w.r.IntN(100000))
				refs := p.meta()["ownerReferences"].([]any)[0].(map[string]any)
				refs["name"], refs["uid"] = o.name(), o.meta()["uid"]
			}
		})
	})
}

func (w *rolling) runJob() {
	ns := w.someHost().namespace
	job := parse("{apiVersion: batch/v1, kind: Job, metadata: {name: backup-%d, namespace: %s}, spec: {template: {metadata: {labels: {job: backup}}, spec: {restartPolicy: Never, containers: [{name: main, image: 'registry.example/main:1'}]}}}}", w.n, ns)
	w.pass(job)
	w.pass(parse("{apiVersion: v1, kind: Pod, metadata: {name: backup-%d-x, namespace: %s, labels: {job: backup}, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: backup-%[1]d, uid: %[3]s, controller: true}]}, spec: {nodeName: node-1, containers: [{name: main, image: 'registry.example/main:1'}]}, status: {phase: %[4]s}}",
		w.n, ns, job.meta()["uid"], []string{"Running", "Pending", "Succeeded", "Failed"}[w.r.IntN(4)]))
}

// some returns an object of a tenant that GitOps manages.
func (w *rolling) some() object {
	for {
		o := w.all[w.r.IntN(len(w.all))]
		switch o.kind() {
		case "Namespace", "Pod", "ReplicaSet", "Deployment", "IngressClass", "Gateway":
			continue
		}
		return o
	}
}

func (w *rolling) recreate() { w.some().created(w.now.Add(-time.Minute)) }

// deleteInForeground deletes a claim, which is still there during the sweep, while its
// successor already is as well.
func (w *rolling) deleteInForeground() {
	o := w.someHost().object
	old := o.clone()
	old.meta()["name"] = o.name() + "-old"
	if o.kind() == "DomainMapping" {
		return
	}
	old.deleted(w.now.Add(-30*time.Second), "foregroundDeletion")
	w.pass(old)
}

func (w *rolling) takeAway() {
	o := w.some()
	if o.kind() == "NetworkPolicy" {
		return // its namespace would be open in fact
	}
	w.hidden[o.id()] = true
}

func (w *rolling) migrate() {
	h := w.someHost()
	c := claims()[w.r.IntN(len(claims()))]
	w.pass(c.objects(w.r, h.namespace, fmt.Sprint("next-", w.n), h.host)...)
}

// handOver moves a host for a while: the Ingress of its owner is being deleted as another
// owner's is created.
func (w *rolling) handOver() {
	host := fmt.Sprintf("moved-%d.example.com", w.n)
	old := ingressOf(w.hosts[0].namespace, fmt.Sprint("moved-", w.n), "nginx", host)
	old.created(w.now.Add(-time.Hour))
	old.deleted(w.now.Add(-time.Minute), "foregroundDeletion")
	w.pass(old, ingressOf(w.hosts[len(w.hosts)-1].namespace, fmt.Sprint("moved-", w.n), "nginx", host))
}

// endNamespace lets a namespace end, whose policies are gone before its pods.
func (w *rolling) endNamespace() {
	ns := fmt.Sprint("preview-", w.n)
	namespace := parse("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {owner: alpha}}, status: {phase: Terminating}}", ns)
	namespace.created(w.now.Add(-time.Hour))
	namespace.meta()["deletionTimestamp"] = w.now.Add(-time.Minute).UTC().Format(time.RFC3339)
	w.pass(namespace)
	w.pass(workload(ns, "web")...)
}

func (w *rolling) relabel() {
	o := w.some()
	o.label("app.kubernetes.io/version", fmt.Sprint(w.n))
	o.annotate("argocd.argoproj.io/tracking-id", fmt.Sprint("shop:", w.n))
}

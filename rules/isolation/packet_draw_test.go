package isolation_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"pgregory.net/rapid"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// packetDraw draws small clusters in which policies, labels and peers often meet.
type packetDraw struct {
	source
	cluster     packetCluster
	unknownSets bool // rules may refer to a set that does not exist
}

// source yields numbers from 0 up to n-1: of a seed, or of rapid, which finds the
// smallest cluster that fails.
type source interface{ IntN(n int) int }

type rapidSource struct{ t *rapid.T }

func (s rapidSource) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(s.t, "") }

func seeded(seed uint64) source { return rand.New(rand.NewPCG(seed, 4)) }

func drawPacketCluster(from source) packetCluster {
	d := &packetDraw{source: from}
	for i, name := range packetNamespaces()[:2+d.IntN(3)] {
		// Manifests may leave a Namespace to somebody else.
		if i == 0 || !d.in(12) {
			d.namespace(name)
		}
		for i := range d.IntN(7) {
			d.workload(name, fmt.Sprintf("w%d", i))
		}
		for i := range d.IntN(6) {
			d.policy(name, fmt.Sprintf("p%d", i))
		}
	}
	return d.cluster
}

// packetNamespaces are the namespaces that a cluster may have.
func packetNamespaces() []string { return []string{"team-a", "team-b", "team-c", "team-d"} }

// packetTime is a time of deletion.
func packetTime() *metav1.Time {
	t := metav1.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	return &t
}

// in is true once in n times.
func (d *packetDraw) in(n int) bool { return d.IntN(n) == 0 }

// oneOf returns one of some things.
func oneOf[T any](d *packetDraw, of ...T) T { return of[d.IntN(len(of))] }

func (d *packetDraw) namespace(name string) {
	ns := &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
	}
	if d.in(2) {
		ns.Labels["env"] = oneOf(d, "prod", "dev")
	}
	// An API server sets it, a manifest seldom has it.
	if d.in(2) {
		ns.Labels[corev1.LabelMetadataName] = name
	}
	if d.in(15) {
		ns.Status.Phase = corev1.NamespaceTerminating
		// An hour ago is stuck, and so is an unknown time.
		if ago := oneOf(d, -time.Minute, time.Minute, time.Hour, 0); ago != 0 {
			ns.DeletionTimestamp = new(metav1.NewTime(packetNow().Add(-ago)))
		}
	}
	d.cluster = append(d.cluster, ns)
}

// labels draws labels of a pod; owner means nothing to any selector.
func (d *packetDraw) labels() map[string]string {
	l := map[string]string{}
	if !d.in(3) {
		l["app"] = oneOf(d, "web", "web", "db", "new")
	}
	if d.in(2) {
		l["tier"] = oneOf(d, "front", "back", "")
	}
	if d.in(5) {
		l["owner"] = "somebody"
	}
	return l
}

// workload draws a pod alone or something that makes pods, and pods of it.
func (d *packetDraw) workload(namespace, name string) {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	host := d.in(12)
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: d.labels()}, Spec: packetPodSpec(host)}
	kind := oneOf(d, "Pod", "Pod", "Pod", "Deployment", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob")
	if kind == "Pod" {
		d.pod(meta, template, nil)
		return
	}
	if d.in(10) {
		meta.DeletionTimestamp = packetTime()
	}
	meta.UID = types.UID("uid-" + name)
	top := d.controller(kind, meta, template)
	// A known owner may stand between the pods and the topmost one.
	if kind == "Deployment" && d.in(2) {
		meta.OwnerReferences, meta.DeletionTimestamp = top, nil
		top = d.controller("ReplicaSet", meta, template)
	}
	for i := range d.IntN(3) {
		if d.in(2) { // of another revision
			template.Labels = d.labels()
			template.Spec = packetPodSpec(host != d.in(8))
		}
		d.pod(metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d", name, i)}, template, top)
	}
}

func packetPodSpec(host bool) corev1.PodSpec {
	return corev1.PodSpec{HostNetwork: host, Containers: []corev1.Container{{Name: "main", Image: "registry.example/app:1"}}}
}

// controller adds what makes pods and returns the reference to it.
func (d *packetDraw) controller(kind string, meta metav1.ObjectMeta, t corev1.PodTemplateSpec) []metav1.OwnerReference {
	apps := metav1.TypeMeta{APIVersion: "apps/v1", Kind: kind}
	batch := metav1.TypeMeta{APIVersion: "batch/v1", Kind: kind}
	version := apps.APIVersion
	switch kind {
	case "Deployment":
		d.cluster = append(d.cluster, &appsv1.Deployment{TypeMeta: apps, ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Template: t}})
	case "ReplicaSet":
		d.cluster = append(d.cluster, &appsv1.ReplicaSet{TypeMeta: apps, ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Template: t}})
	case "StatefulSet":
		d.cluster = append(d.cluster, &appsv1.StatefulSet{TypeMeta: apps, ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Template: t}})
	case "DaemonSet":
		d.cluster = append(d.cluster, &appsv1.DaemonSet{TypeMeta: apps, ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Template: t}})
	case "Job":
		version = batch.APIVersion
		job := &batchv1.Job{TypeMeta: batch, ObjectMeta: meta, Spec: batchv1.JobSpec{Template: t}}
		if d.in(3) {
			end := oneOf(d, batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuspended)
			job.Status.Conditions = []batchv1.JobCondition{{Type: end, Status: oneOf(d, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse)}}
		}
		d.cluster = append(d.cluster, job)
	case "CronJob":
		version = batch.APIVersion
		spec := batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: t}}}
		d.cluster = append(d.cluster, &batchv1.CronJob{TypeMeta: batch, ObjectMeta: meta, Spec: spec})
	}
	controls := true
	return []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: meta.Name, UID: meta.UID, Controller: &controls}}
}

func (d *packetDraw) pod(meta metav1.ObjectMeta, t corev1.PodTemplateSpec, owners []metav1.OwnerReference) {
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: meta, Spec: t.Spec}
	pod.Labels = t.Labels
	pod.Status.Phase = oneOf(d, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodSucceeded, corev1.PodFailed)
	if d.in(8) {
		pod.DeletionTimestamp = packetTime()
	}
	switch {
	case d.in(15): // owned, but controlled by nothing
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "w0"}}
	case d.in(15): // controlled by what nobody read
		controls := true
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Robot", Name: "w0", Controller: &controls}}
	default:
		pod.OwnerReferences = owners
		if len(owners) > 0 && d.in(10) { // by somebody who forges
			forged := *owners[0].DeepCopy()
			forged.UID = "00000000-0000-4000-8000-000000000000"
			pod.OwnerReferences = []metav1.OwnerReference{forged}
		}
	}
	d.cluster = append(d.cluster, pod)
}

// policy draws a NetworkPolicy. Of all shapes that the API has, those that come
// near to a verdict are drawn most.
func (d *packetDraw) policy(namespace, name string) {
	p := &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}
	if d.in(20) {
		p.DeletionTimestamp = packetTime() // in force until it is gone
	}
	p.Spec.PodSelector = *d.selector(d.podKeys())
	p.Spec.PolicyTypes = oneOf(d, nil, []networkingv1.PolicyType{}, []networkingv1.PolicyType{"Ingress"},
		[]networkingv1.PolicyType{"Egress"}, []networkingv1.PolicyType{"Ingress", "Egress"}, []networkingv1.PolicyType{"Egress", "Ingress"})
	for range d.ruleCount() {
		p.Spec.Ingress = append(p.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: d.peers(), Ports: d.ports()})
	}
	for range d.ruleCount() {
		p.Spec.Egress = append(p.Spec.Egress, networkingv1.NetworkPolicyEgressRule{To: d.peers(), Ports: d.ports()})
	}
	d.spoil(p)
	d.cluster = append(d.cluster, p)
}

func (d *packetDraw) ruleCount() int { return oneOf(d, 0, 0, 1, 1, 2, 3) }

// packetKey is a label key with the values that selectors know of.
type packetKey struct {
	name   string
	values []string
}

// podKeys are those of pods; now and then one that a controller sets is among
// them.
func (d *packetDraw) podKeys() []packetKey {
	keys := []packetKey{{"app", []string{"web", "db"}}, {"tier", []string{"front", "back", ""}}}
	if d.in(6) {
		keys = append(keys, packetKey{oneOf(d, "pod-template-hash", "controller-revision-hash", "job-name",
			"apps.kubernetes.io/pod-index", "batch.kubernetes.io/controller-uid"), []string{"0", "w0", "uid-w1"}})
	}
	return keys
}

func (d *packetDraw) namespaceKeys() []packetKey {
	return []packetKey{{"env", []string{"prod", "dev"}}, {corev1.LabelMetadataName, packetNamespaces()[:2]}}
}

// selector draws a selector; half of them select everything.
func (d *packetDraw) selector(keys []packetKey) *metav1.LabelSelector {
	s := &metav1.LabelSelector{}
	if d.in(2) {
		return s
	}
	for range 1 + d.IntN(2) {
		key := oneOf(d, keys...)
		if d.in(3) {
			metav1.AddLabelToSelector(s, key.name, oneOf(d, key.values...))
			continue
		}
		r := metav1.LabelSelectorRequirement{Key: key.name, Operator: oneOf(d, metav1.LabelSelectorOpIn,
			metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}
		if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
			first := d.IntN(len(key.values))
			r.Values = slices.Concat(key.values[first:], key.values[:first])[:1+d.IntN(len(key.values))]
		}
		s.MatchExpressions = append(s.MatchExpressions, r)
	}
	return s
}

// spoil makes a mistake in some policies that no API server admits.
func (d *packetDraw) spoil(p *networkingv1.NetworkPolicy) {
	if !d.in(25) {
		return
	}
	var peer networkingv1.NetworkPolicyPeer
	switch d.IntN(4) {
	case 0:
		p.Spec.PodSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn}}
		return
	case 1:
		peer.IPBlock = &networkingv1.IPBlock{CIDR: "nowhere"}
	case 2:
		peer.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "env", Operator: "Is"}}}
	}
	if d.in(2) {
		p.Spec.Ingress = append(p.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: []networkingv1.NetworkPolicyPeer{peer}})
		return
	}
	p.Spec.Egress = append(p.Spec.Egress, networkingv1.NetworkPolicyEgressRule{To: []networkingv1.NetworkPolicyPeer{peer}})
}

func (d *packetDraw) peers() (list []networkingv1.NetworkPolicyPeer) {
	if d.in(4) {
		return nil
	}
	for range 1 + d.IntN(3) {
		var p networkingv1.NetworkPolicyPeer
		switch d.IntN(6) {
		case 0:
			p.PodSelector = d.selector(d.podKeys())
		case 1, 2:
			p.NamespaceSelector = d.selector(d.namespaceKeys())
		case 3:
			p.PodSelector, p.NamespaceSelector = d.selector(d.podKeys()), d.selector(d.namespaceKeys())
		default:
			p.IPBlock = d.block()
		}
		list = append(list, p)
	}
	return list
}

// block draws a range of addresses, mostly one that is a good part of all.
func (d *packetDraw) block() *networkingv1.IPBlock {
	b := &networkingv1.IPBlock{CIDR: oneOf(d, "0.0.0.0/0", "0.0.0.0/0", "0.0.0.0/1", "128.0.0.0/1", "0.0.0.0/2", "64.0.0.0/2",
		"128.0.0.0/3", "128.0.0.0/2", "10.0.0.0/8", "8.8.8.0/24", "192.0.2.7/32",
		"::/0", "::/0", "::/1", "8000::/1", "2000::/3", "2000::/4", "3000::/4", "fd00::/8", "2001:db8::7/128")}
	if d.in(2) {
		return b
	}
	whole := netip.MustParsePrefix(b.CIDR)
	for range 1 + d.IntN(3) {
		if e := d.inside(whole); e.IsValid() {
			b.Except = append(b.Except, e.String())
		}
	}
	return b
}

// inside draws a range inside another one: some that people except, some of just
// the size at which the rest is not the world any more.
func (d *packetDraw) inside(whole netip.Prefix) netip.Prefix {
	e := netip.MustParsePrefix(oneOf(d, "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.169.254/32", "224.0.0.0/3",
		"16.0.0.0/4", "16.0.0.0/5", "24.0.0.0/6", "128.0.0.0/1", "64.0.0.0/2", "fd00::/8", "2000::/7", "2200::/7", "2000::/8", "3f00::/8", "2001:db8::/32", "8000::/1"))
	if e.Bits() <= whole.Bits() || !whole.Contains(e.Addr()) {
		return netip.Prefix{}
	}
	return e
}

func (d *packetDraw) ports() (list []networkingv1.NetworkPolicyPort) {
	switch d.IntN(5) {
	case 0, 1:
		return nil
	case 2: // the same for every protocol, as far as it goes
		all := d.port()
		for _, protocol := range packetProtocols()[:1+d.IntN(3)] {
			all.Protocol = &protocol
			list = append(list, all)
		}
		return list
	}
	for range 1 + d.IntN(3) {
		list = append(list, d.port())
	}
	return list
}

func (d *packetDraw) port() networkingv1.NetworkPolicyPort {
	var p networkingv1.NetworkPolicyPort
	if !d.in(3) {
		protocol := oneOf(d, packetProtocols()...)
		p.Protocol = &protocol
	}
	number := func(first, last int32) {
		from := intstr.FromInt32(first)
		p.Port = &from
		if last > 0 {
			p.EndPort = &last
		}
	}
	switch d.IntN(8) {
	case 0, 1: // no port
	case 2:
		number(oneOf[int32](d, 1, 53, 80, 443, 8080, 65535), 0)
	case 3:
		number(1, 65535)
	case 4:
		number(1, oneOf[int32](d, 1023, 32767, 61439, 61440, 65534))
	case 5:
		number(oneOf[int32](d, 2, 4096, 4097, 32768, 32769), 65535)
	case 6:
		first := 1 + d.IntN(65535)
		number(int32(first), int32(first+d.IntN(65536-first)))
	case 7:
		name := intstr.FromString(oneOf(d, "http", "metrics"))
		p.Port = &name
	}
	return p
}

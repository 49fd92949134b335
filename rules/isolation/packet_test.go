package isolation_test

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/isolation"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// differ returns how the judge of packets and the rule differ on the cluster.
func (c packetCluster) differ() string {
	words, err := isolationWords(c.snapshot())
	if err != nil {
		return err.Error()
	}
	return cmp.Diff(c.byPackets(), words)
}

func checkPacketCluster(t *rapid.T) {
	c := drawPacketCluster(rapidSource{t})
	if diff := c.differ(); diff != "" {
		t.Fatalf("packets (-) and the rule (+) differ:\n%s\nin\n%s", diff, c)
	}
}

func TestIsolationAgreesWithPackets(t *testing.T) {
	for range 30 { // of 100 clusters each
		rapid.Check(t, checkPacketCluster)
	}
}

func FuzzIsolationAgreesWithPackets(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(checkPacketCluster))
}

// Clusters in which nothing ever comes near a verdict would prove nothing.
func TestPacketClustersComeToEveryVerdict(t *testing.T) {
	var words strings.Builder
	for seed := range uint64(300) {
		words.WriteString(strings.Join(drawPacketCluster(seeded(seed)).byPackets(), "\n") + "\n")
	}
	for _, word := range []string{
		"ingress=present egress=missing", "ingress=missing egress=present", "ingress=present egress=present",
		"open=none", "open=ingress", "open=egress", "open=both", "open=partial", "scope=all", "scope=world", "scope=cluster", "scope=tcp",
		"both allow-all\n", "ingress allow-world", "egress allow-cluster", "allow-all-tcp", "not-selected", "invalid-policy", "no-policy", "host-network",
		"is missing", "is defeated",
	} {
		if n := strings.Count(words.String(), word); n < 20 {
			t.Errorf("%q comes only %d times", word, n)
		}
	}
}

// packetCluster is a small cluster as an API server would hand it out. It holds
// typed objects, so that what turns them into facts is judged with the rule.
type packetCluster []runtime.Object

// snapshot reads the cluster as every source does.
func (c packetCluster) snapshot() *snapshot.Snapshot {
	in := ingest.New(nil)
	var f snapshot.Facts
	for _, o := range c {
		switch o := o.(type) {
		case *corev1.Namespace:
			f.Namespaces = append(f.Namespaces, in.Namespace(o))
		case *corev1.Pod:
			f.Pods = append(f.Pods, in.Pod(o))
		case *networkingv1.NetworkPolicy:
			f.Policies = append(f.Policies, in.NetworkPolicy(o))
		case *appsv1.Deployment:
			f.Workloads = append(f.Workloads, in.Deployment(o))
		case *appsv1.ReplicaSet:
			f.Workloads = append(f.Workloads, in.ReplicaSet(o))
		case *appsv1.StatefulSet:
			f.Workloads = append(f.Workloads, in.StatefulSet(o))
		case *appsv1.DaemonSet:
			f.Workloads = append(f.Workloads, in.DaemonSet(o))
		case *batchv1.Job:
			f.Workloads = append(f.Workloads, in.Job(o))
		case *batchv1.CronJob:
			f.Workloads = append(f.Workloads, in.CronJob(o))
		default:
			panic(fmt.Sprintf("no fact of %T", o))
		}
	}
	var b snapshot.Builder
	b.Add(f)
	return b.Freeze()
}

// isolationWords returns what default-deny-present says of a snapshot, in sorted
// lines like those of a fixture's header.
func isolationWords(snap *snapshot.Snapshot) ([]string, error) {
	res, err := isolationOf(snap)
	lines := []string{}
	for _, row := range res.Isolation {
		lines = append(lines, isolationWord(row))
		for _, e := range row.Exposed {
			lines = append(lines, exposedWord(row.Namespace, e))
		}
	}
	for _, v := range res.Violations {
		lines = append(lines, findingWord(v.Subject.Name, v.Subject.Detail, v.Verdict))
	}
	slices.Sort(lines)
	return lines, err
}

// packetNow is when the sweep starts.
func packetNow() time.Time { return time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC) }

func isolationOf(snap *snapshot.Snapshot) (rules.Result, error) {
	rule := isolation.Rule()
	directions := snapshot.Directions()
	return rule.Run(rules.Input{
		Now:        packetNow(),
		View:       snap.View(slices.Concat(rule.Needs, rule.Uses)...),
		Owner:      func(m *snapshot.Meta) rules.Owner { return rules.Owner{Namespace: m.Namespace} },
		Directions: directions[:],
		Exempt:     func(string) bool { return false },
	})
}

func isolationWord(row rules.Isolation) string {
	line := fmt.Sprintf("# isolation: ns=%s ingress=%s egress=%s open=%s", row.Namespace, row.Ingress, row.Egress, row.Open)
	if row.Scope != "" {
		line += " scope=" + row.Scope
	}
	return fmt.Sprintf("%s of %d", line, row.Workloads)
}

func exposedWord(namespace string, e rules.Exposed) string {
	return fmt.Sprintf("# exposed: %s %s/%s %s %s", namespace, e.Kind, e.Name, e.Direction, e.Reason)
}

func findingWord(namespace, direction, verdict string) string {
	return fmt.Sprintf("# finding: %s (%s) is %s", namespace, direction, verdict)
}

// String returns the manifests of the cluster, ready to become a fixture.
func (c packetCluster) String() string {
	var out strings.Builder
	for _, o := range c {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			panic(err)
		}
		// What typed objects print though nobody wrote it.
		unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
		unstructured.RemoveNestedField(fields, "spec", "template", "metadata", "creationTimestamp")
		if status, ok := fields["status"].(map[string]any); ok && status["phase"] == nil && status["conditions"] == nil {
			delete(fields, "status")
		}
		text, err := yaml.Marshal(fields)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&out, "---\n%s", text)
	}
	return out.String()
}

// byPackets returns what packets make of the cluster, in the lines of
// isolationWords.
func (c packetCluster) byPackets() []string {
	known := map[string]*packetNamespace{}
	of := func(name string) *packetNamespace {
		if known[name] == nil {
			known[name] = &packetNamespace{name: name}
		}
		return known[name]
	}
	for _, o := range c {
		switch o := o.(type) {
		case *corev1.Namespace:
			of(o.Name).object = o
		case *networkingv1.NetworkPolicy:
			of(o.Namespace).policies = append(of(o.Namespace).policies, o)
		}
	}
	for _, name := range packetNamespaces() {
		if list := c.workloads(name); len(list) > 0 {
			of(name).workloads = list
		}
	}
	lines := []string{}
	for _, n := range known {
		var others [][]packetEnd
		for _, o := range known {
			if o != n && (o.object != nil || len(o.workloads) > 0) {
				others = append(others, o.ends())
			}
		}
		lines = append(lines, n.words(others)...)
	}
	slices.Sort(lines)
	return lines
}

// packetNamespace is a namespace under judgement. Its Namespace may not be there.
type packetNamespace struct {
	name      string
	object    *corev1.Namespace
	policies  []*networkingv1.NetworkPolicy
	workloads []*packetWorkload
}

// ends returns a pod without labels and the pods of the namespace as others see them:
// those of a workload that differ. One in the host's network is a node to them.
func (n *packetNamespace) ends() (list []packetEnd) {
	own := labels.Set{corev1.LabelMetadataName: n.name}
	if n.object != nil {
		own = labels.Merge(n.object.Labels, own)
	}
	list = append(list, packetEnd{namespace: n.name, nsLabels: own})
	for _, w := range n.workloads {
		seen := map[string]bool{}
		for _, pod := range w.pods {
			if !seen[pod.String()] {
				seen[pod.String()] = true
				list = append(list, packetEnd{namespace: n.name, nsLabels: own, podLabels: pod})
			}
		}
	}
	return list
}

// words returns the lines about the namespace.
func (n *packetNamespace) words(others [][]packetEnd) (lines []string) {
	leaving := n.object != nil && n.object.DeletionTimestamp != nil && n.object.DeletionTimestamp.Time.After(packetNow().Add(-10*time.Minute))
	isolatable := slices.ContainsFunc(n.workloads, func(w *packetWorkload) bool { return len(w.pods) > 0 })
	var names []string
	for _, w := range n.workloads {
		names = append(names, w.kind+"/"+w.name)
	}
	var sides [2]packetSide
	for i, d := range packetDirections() {
		sides[i] = newPacketJudge(n.policies, d, others).side(n.workloads)
		if verdict := sides[i].verdict(); verdict != "" && isolatable && !leaving {
			lines = append(lines, findingWord(n.name, string(d), verdict))
		}
	}
	return append(lines, sideWords(n.name, names, sides[0], sides[1])...)
}

// passes reports whether some policies let a packet pass.
func (j *packetJudge) passes(policies []int, end, port int) bool {
	for _, p := range policies {
		if slices.ContainsFunc(j.rules[p], func(r triedRule) bool { return r.ends[end] && r.ports[port] }) {
			return true
		}
	}
	return false
}

// cluster reports whether some policies admit the cluster by a port.
func (j *packetJudge) cluster(policies []int, port int) bool {
	left := 0
	for i := range j.places {
		if j.place(policies, i, port) {
			continue
		}
		if left++; i == 0 || 16*left > len(j.places)-1 {
			return false
		}
	}
	return true
}

// place reports whether some policies admit a namespace by a port.
func (j *packetJudge) place(policies []int, i, port int) bool {
	left := 0
	for k, end := range j.places[i].pods {
		if j.passes(policies, end, port) {
			continue
		}
		if left++; k == 0 || 16*left > len(j.places[i].pods)-1 {
			return false
		}
	}
	return true
}

// world reports whether the policies admit the public addresses of either
// version of IP by a port.
func (j *packetJudge) world(policies []int, port int) bool {
	var passed, whole [2]big.Int
	for i := range j.outside {
		s := &j.outside[i]
		if !s.public {
			continue
		}
		version := 0
		if s.addr.Is6() {
			version = 1
		}
		whole[version].Add(&whole[version], s.size)
		if j.passes(policies, len(j.pods)+i, port) {
			passed[version].Add(&passed[version], s.size)
		}
	}
	enough := func(version int) bool {
		a, b := new(big.Int).Mul(&passed[version], big.NewInt(16)), new(big.Int).Mul(&whole[version], big.NewInt(15))
		return a.Cmp(b) >= 0
	}
	return enough(0) || enough(1)
}

// scope returns how far some policies together open a pod, in the word of the
// report.
func (j *packetJudge) scope(policies []int) string {
	key := fmt.Sprint(policies)
	scope, ok := j.known[key]
	if !ok {
		scope = j.tryScope(policies)
		j.known[key] = scope
	}
	return scope
}

func (j *packetJudge) tryScope(policies []int) string {
	var cluster, world [3]bool
	for i, protocol := range packetProtocols() {
		var left [2]int32
		for port, p := range j.ports {
			if p.protocol != protocol {
				continue
			}
			// Nothing changes up to the next one.
			next := int32(65536)
			if port+1 < len(j.ports) && j.ports[port+1].protocol == protocol {
				next = j.ports[port+1].port
			}
			if !j.cluster(policies, port) {
				left[0] += next - p.port
			}
			if !j.world(policies, port) {
				left[1] += next - p.port
			}
		}
		cluster[i], world[i] = fewPorts(left[0]), fewPorts(left[1])
	}
	every := [3]bool{true, true, true}
	switch {
	case cluster == every && world == every:
		return "all"
	case world == every:
		return "world"
	case cluster[0] && world[0]:
		return "tcp"
	case cluster == every:
		return "cluster"
	case world[0]:
		return "world"
	case cluster[0]:
		return "cluster"
	}
	return ""
}

// packetPort is where a packet goes.
type packetPort struct {
	protocol corev1.Protocol
	port     int32
}

func packetProtocols() []corev1.Protocol {
	return []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}
}

func packetDirections() []networkingv1.PolicyType {
	return []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
}

// unheard is a label value, and a namespace, that no policy speaks of.
const unheard = "unheard-of"

// everyLabels returns every set of labels that some selectors can tell apart:
// each key absent, with each value that they speak of, and with one that they do
// not speak of. Keys in always are in each set, for those values and unheard.
func everyLabels(selectors []*metav1.LabelSelector, always map[string][]string) []labels.Set {
	values := map[string][]string{}
	for _, s := range selectors {
		for key, value := range s.MatchLabels {
			values[key] = append(values[key], value)
		}
		for _, e := range s.MatchExpressions {
			values[e.Key] = append(values[e.Key], e.Values...)
		}
	}
	for key, list := range always {
		values[key] = append(values[key], list...)
	}
	sets := []labels.Set{{}}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		var longer []labels.Set
		slices.Sort(values[key])
		for _, s := range sets {
			if always[key] == nil {
				longer = append(longer, s)
			}
			for _, value := range append(slices.Compact(values[key]), unheard) {
				longer = append(longer, labels.Merge(s, labels.Set{key: value}))
			}
		}
		sets = longer
	}
	return sets
}

// everyPort returns the ports at which anything can change for some rules, and
// some that everybody knows.
func everyPort(all []packetRule) []int32 {
	list := []int32{1, 53, 80, 443, 8080, 65535}
	for _, r := range all {
		for _, p := range r.ports {
			if p.Port == nil || p.Port.IntVal == 0 {
				continue
			}
			last := p.Port.IntVal
			if p.EndPort != nil {
				last = *p.EndPort
			}
			list = append(list, p.Port.IntVal-1, p.Port.IntVal, p.Port.IntVal+1, last-1, last, last+1)
		}
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(port int32) bool { return port < 1 || port > 65535 })
}

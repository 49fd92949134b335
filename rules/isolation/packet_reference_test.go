package isolation_test

import (
	"math/big"
	"net/netip"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/eventuallytrue/audit/rules"
)

// packetJudge says for the pods of one namespace which packets pass in one
// direction. It knows no sets of ports, no unions of blocks and no reasoning about
// selectors: it tries every packet that could make a difference.
//
// By the API a pod is isolated in a direction if a policy of that direction
// selects it. An isolated pod takes what some rule of some policy that selects it
// allows; one that is not isolated takes everything. The words of the verdicts,
// in packets:
//
//   - All but a few means that no more than one of sixteen is left out.
//   - Some policies admit a namespace by a port if the pod without labels may use it,
//     and all but a few pods that are in the namespace. They admit the cluster by a
//     port if they so admit a namespace of an unheard name without labels, and all
//     but a few namespaces that exist, not counting their own. They admit the world by
//     a port if all but a few public addresses of IPv4, or of IPv6, may use it. Which
//     these are may differ from port to port, and so may the version of IP.
//   - Their scope is "all" if they admit both by all but a few ports of each of TCP,
//     UDP and SCTP, which is meant by every port;
//     else "world" if they admit the world so; else "tcp" if they admit both by
//     every port of TCP; else "cluster" if they admit the cluster by every port of
//     the three; else "world", or else "cluster", if they admit that by every port
//     of TCP; else none. The widest is "all", then "world", "cluster", "tcp".
//   - Default-deny is present in a direction if every pod that there could be in
//     the namespace is selected by a policy whose scope alone is not "all".
//   - A pod is open by rules in the scope of the policies that select it. Where
//     none does, it is "not-selected" if any policy of the direction has another
//     scope than "all", else "invalid-policy" if any cannot be in force, else
//     "no-policy".
//   - A workload is as open as the worst of its pods. One that is not open is
//     "host-network" if it has a pod in the host's network, which counts for nothing
//     else. What its template gives the next pod counts as a pod of it, unless it has
//     one of that network which runs.
//   - A direction is wholly open if the policies that each select every pod that
//     there could be have a scope together, or if there are workloads and all of
//     them are open by rules. It is partly open if some are. The scope of a
//     namespace is the widest of these.
//   - A finding is made where default-deny is not present, or where the direction
//     is open in any scope; it needs a workload with pods outside the host's network,
//     and a namespace that is not being deleted.
type packetJudge struct {
	policies  []*networkingv1.NetworkPolicy // of the direction, and in force
	invalid   int                           // of the direction, and not in force
	rules     [][]triedRule                 // of each policy
	pods      []packetEnd
	places    []packetPlace
	outside   []stretch
	ports     []packetPort
	known     map[string]string // scope by policies
	selectors packetSelectors
}

// triedRule says of which ends and ports a rule is met; the ends are the pods and
// behind them what is outside.
type triedRule struct{ ends, ports []bool }

// packetPlace is a namespace that others are: the first of its pods has no labels and
// may not exist. They are given by their places among those of the judge.
type packetPlace struct{ pods []int }

// newPacketJudge tries all rules of some policies of one namespace, with the pods of
// each other namespace, behind one without labels.
func newPacketJudge(policies []*networkingv1.NetworkPolicy, d networkingv1.PolicyType, others [][]packetEnd) *packetJudge {
	j := &packetJudge{known: map[string]string{}, selectors: packetSelectors{}}
	unknown := packetEnd{namespace: unheard, nsLabels: labels.Set{corev1.LabelMetadataName: unheard}}
	for _, pods := range append([][]packetEnd{{unknown}}, others...) {
		var place packetPlace
		for _, p := range pods {
			place.pods = append(place.pods, len(j.pods))
			j.pods = append(j.pods, p)
		}
		j.places = append(j.places, place)
	}
	var all []packetRule
	for _, p := range policies {
		switch {
		case !packetIsolates(p, d):
		case !inForce(p):
			j.invalid++
		default:
			j.policies = append(j.policies, p)
			all = append(all, packetRules(p, d)...)
		}
	}
	j.outside = everyAddress(all)
	for _, protocol := range packetProtocols() {
		for _, port := range everyPort(all) {
			j.ports = append(j.ports, packetPort{protocol, port})
		}
	}
	for _, p := range j.policies {
		var tried []triedRule
		for _, r := range packetRules(p, d) {
			tried = append(tried, j.try(p, r))
		}
		j.rules = append(j.rules, tried)
	}
	return j
}

// try holds a rule against every end and every port. Where it names none, it is
// met by all.
func (j *packetJudge) try(p *networkingv1.NetworkPolicy, r packetRule) (t triedRule) {
	end := func(e *packetEnd) {
		met := func(peer networkingv1.NetworkPolicyPeer) bool { return j.selectors.matchesEnd(p, &peer, e) }
		t.ends = append(t.ends, len(r.peers) == 0 || slices.ContainsFunc(r.peers, met))
	}
	for i := range j.pods {
		end(&j.pods[i])
	}
	for i := range j.outside {
		end(&j.outside[i].packetEnd)
	}
	for _, port := range j.ports {
		met := func(p networkingv1.NetworkPolicyPort) bool { return matchesPort(&p, port) }
		t.ports = append(t.ports, len(r.ports) == 0 || slices.ContainsFunc(r.ports, met))
	}
	return t
}

// packetSide is what is said of one direction of a namespace.
type packetSide struct {
	deny    rules.IsolationState
	reasons []string // of each workload
	// isolatable counts the workloads with pods outside the host's network.
	isolatable int
	whole      bool   // wholly open by rules
	widest     string // the widest scope in which anything is open by rules
}

// newPacketSide puts together what was found out of a direction: everyPod is the
// scope in which every pod that there could be is open.
func newPacketSide(deny rules.IsolationState, everyPod string, reasons []string, isolatable int) packetSide {
	s := packetSide{deny: deny, reasons: reasons, isolatable: isolatable, widest: everyPod}
	open := 0
	for _, reason := range reasons {
		if scope := s.opened(reason); scope != "" {
			open++
			s.widest = widerScope(s.widest, scope)
		}
	}
	s.whole = everyPod != "" || open > 0 && open == isolatable
	return s
}

// opened returns the scope in which a workload is open by rules. Where default-deny
// is present, one that is open for want of a decision counts, too: what denies is
// passed by.
func (s *packetSide) opened(reason string) string {
	for _, scope := range []string{"tcp", "cluster", "world", "all"} {
		if reason == allowReason(scope) {
			return scope
		}
	}
	switch {
	case s.deny != rules.Present || reason == "" || reason == "host-network":
		return ""
	case reason == "world-not-denied":
		return "world"
	}
	return "all"
}

// side judges the direction for some workloads.
func (j *packetJudge) side(workloads []*packetWorkload) packetSide {
	var reasons []string
	isolatable := 0
	for _, w := range workloads {
		worst := ""
		for _, pod := range w.pods {
			worst = worseReason(worst, j.pod(pod))
		}
		if worst == "" && w.host {
			worst = "host-network"
		}
		if len(w.pods) > 0 {
			isolatable++
		}
		reasons = append(reasons, worst)
	}
	return newPacketSide(j.deny(), j.everyPodOpen(), reasons, isolatable)
}

// deny says whether the direction is denied by default.
func (j *packetJudge) deny() rules.IsolationState {
	for _, pod := range j.everyPodHere() {
		denies := func(p int) bool { return j.scope([]int{p}) != "all" }
		if !slices.ContainsFunc(j.selecting(pod), denies) {
			return rules.Missing
		}
	}
	return rules.Present
}

// everyPodOpen returns the scope in which policies open every pod that there could
// be: those that each select all of them.
func (j *packetJudge) everyPodOpen() string {
	var policies []int
	for p := range j.policies {
		skips := func(pod labels.Set) bool { return !slices.Contains(j.selecting(pod), p) }
		if !slices.ContainsFunc(j.everyPodHere(), skips) {
			policies = append(policies, p)
		}
	}
	return j.scope(policies)
}

// verdict returns what a finding says, if there is one.
func (s *packetSide) verdict() string {
	switch {
	case s.deny != rules.Present:
		return string(s.deny)
	case s.widest != "":
		return "defeated"
	}
	return ""
}

// sideWords returns the lines about a namespace and its workloads.
func sideWords(namespace string, workloads []string, in, out packetSide) (lines []string) {
	row := rules.Isolation{Namespace: namespace, Ingress: in.deny, Egress: out.deny}
	row.Open, row.Scope = openWord(in, out), widerScope(in.widest, out.widest)
	row.Workloads = in.isolatable
	for i, w := range workloads {
		for _, e := range exposures(in.reasons[i], out.reasons[i]) {
			e.Kind, e.Name, _ = strings.Cut(w, "/")
			lines = append(lines, exposedWord(namespace, e))
		}
	}
	return append(lines, isolationWord(row))
}

// exposures puts two directions into words.
func exposures(in, out string) (list []rules.Exposed) {
	if in == out && in != "" {
		return []rules.Exposed{{Direction: "both", Reason: in}}
	}
	if in != "" {
		list = append(list, rules.Exposed{Direction: "ingress", Reason: in})
	}
	if out != "" {
		list = append(list, rules.Exposed{Direction: "egress", Reason: out})
	}
	return list
}

func openWord(in, out packetSide) string {
	switch {
	case in.whole && out.whole:
		return "both"
	case in.whole:
		return "ingress"
	case out.whole:
		return "egress"
	case in.widest != "" || out.widest != "":
		return "partial"
	}
	return "none"
}

// packetEnd is the other end of a connection: a pod, or an address outside the
// cluster.
type packetEnd struct {
	namespace string
	nsLabels  labels.Set
	podLabels labels.Set
	addr      netip.Addr // of what is outside; not valid for a pod
}

// packetRule is an ingress or egress rule: both have the same two fields.
type packetRule struct {
	peers []networkingv1.NetworkPolicyPeer
	ports []networkingv1.NetworkPolicyPort
}

// packetRules returns the rules of a policy in one direction.
func packetRules(p *networkingv1.NetworkPolicy, d networkingv1.PolicyType) (list []packetRule) {
	if d == networkingv1.PolicyTypeEgress {
		for _, r := range p.Spec.Egress {
			list = append(list, packetRule{r.To, r.Ports})
		}
		return list
	}
	for _, r := range p.Spec.Ingress {
		list = append(list, packetRule{r.From, r.Ports})
	}
	return list
}

// packetIsolates reports whether pods that the policy selects are isolated in a
// direction. "If this field is not specified, it will default based on the
// existence of ingress or egress rules; policies that contain an egress section
// are assumed to affect egress, and all policies are assumed to affect ingress."
func packetIsolates(p *networkingv1.NetworkPolicy, d networkingv1.PolicyType) bool {
	if len(p.Spec.PolicyTypes) > 0 {
		return slices.Contains(p.Spec.PolicyTypes, d)
	}
	return d == networkingv1.PolicyTypeIngress || len(p.Spec.Egress) > 0
}

// packetSelectors are label selectors as the API's own library reads them, kept
// since to read one takes longer than to ask it.
type packetSelectors map[*metav1.LabelSelector]labels.Selector

// selects reports whether a label selector matches. The empty one matches
// everything; whether a null one does depends on where it stands.
func (known packetSelectors) selects(s *metav1.LabelSelector, l labels.Set) bool {
	selector, ok := known[s]
	if !ok {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(s); err != nil {
			panic(err) // only policies in force come here
		}
		known[s] = selector
	}
	return selector.Matches(l)
}

// matchesEnd reports whether a peer of a rule is met. An ipBlock is taken for
// what it is written for, the addresses outside; that some network plugins hold
// it against pods, too, is not promised.
func (known packetSelectors) matchesEnd(policy *networkingv1.NetworkPolicy, p *networkingv1.NetworkPolicyPeer, end *packetEnd) bool {
	switch {
	case p.IPBlock != nil:
		in := func(cidr string) bool { return netip.MustParsePrefix(cidr).Contains(end.addr) }
		return end.addr.IsValid() && in(p.IPBlock.CIDR) && !slices.ContainsFunc(p.IPBlock.Except, in)
	case end.addr.IsValid():
		return false
	case p.NamespaceSelector == nil:
		return end.namespace == policy.Namespace && known.selects(p.PodSelector, end.podLabels)
	}
	return known.selects(p.NamespaceSelector, end.nsLabels) && (p.PodSelector == nil || known.selects(p.PodSelector, end.podLabels))
}

// matchesPort reports whether a port of a rule is met. A name stands for the
// number of a container's port. None of the pods here names any, and no name can
// stand for every number.
func matchesPort(p *networkingv1.NetworkPolicyPort, packet packetPort) bool {
	protocol := "TCP"
	if p.Protocol != nil {
		protocol = string(*p.Protocol)
	}
	switch {
	case protocol != string(packet.protocol):
		return false
	case p.Port == nil:
		return true
	case p.Port.Type == intstr.String:
		return false
	case p.EndPort != nil:
		return p.Port.IntVal <= packet.port && packet.port <= *p.EndPort
	}
	return p.Port.IntVal == packet.port
}

// inForce reports whether an API server would have admitted the policy. What is
// wrong with rules of a direction that the policy does not isolate changes
// nothing.
func inForce(p *networkingv1.NetworkPolicy) bool {
	valid := func(s *metav1.LabelSelector) bool {
		_, err := metav1.LabelSelectorAsSelector(s)
		return err == nil
	}
	if !valid(&p.Spec.PodSelector) {
		return false
	}
	for _, d := range packetDirections() {
		if !packetIsolates(p, d) {
			continue
		}
		for _, r := range packetRules(p, d) {
			for _, peer := range r.peers {
				none := peer.IPBlock == nil && peer.PodSelector == nil && peer.NamespaceSelector == nil
				if none || !valid(peer.PodSelector) || !valid(peer.NamespaceSelector) || peer.IPBlock != nil && peer.IPBlock.CIDR == "nowhere" {
					return false
				}
			}
		}
	}
	return true
}

// selecting returns the policies that select a pod with the given labels.
func (j *packetJudge) selecting(pod labels.Set) (list []int) {
	for i, p := range j.policies {
		if j.selectors.selects(&p.Spec.PodSelector, pod) {
			list = append(list, i)
		}
	}
	return list
}

// everyPodHere returns every pod that the policies can tell apart in their
// namespace.
func (j *packetJudge) everyPodHere() []labels.Set {
	var selectors []*metav1.LabelSelector
	for _, p := range j.policies {
		selectors = append(selectors, &p.Spec.PodSelector)
	}
	return everyLabels(selectors, nil)
}

// pod returns why a pod is open, if it is.
func (j *packetJudge) pod(l labels.Set) string {
	selecting := j.selecting(l)
	if len(selecting) > 0 {
		return allowReason(j.scope(selecting))
	}
	for p := range j.policies {
		if j.scope([]int{p}) != "all" {
			return "not-selected"
		}
	}
	if j.invalid > 0 {
		return "invalid-policy"
	}
	return "no-policy"
}

// allowReason returns the reason for a pod that is open by rules in a scope.
func allowReason(scope string) string {
	switch scope {
	case "":
		return ""
	case "tcp":
		return "allow-all-tcp"
	}
	return "allow-" + scope
}

// widerScope returns the wider of two scopes.
func widerScope(a, b string) string {
	order := []string{"", "tcp", "cluster", "world", "all"}
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}

// worseReason returns the worse of two reasons.
func worseReason(a, b string) string {
	order := []string{"", "allow-all-tcp", "allow-cluster", "allow-world", "allow-all", "not-selected", "invalid-policy", "no-policy"}
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}

// packetWorkload is a workload of the report: the topmost known owner of live
// pods, a live pod that nothing known controls, or what will make pods and has
// none.
type packetWorkload struct {
	kind, namespace, name string
	pods                  []labels.Set // outside the host's network
	host                  bool         // it has others
	runs                  [2]bool      // whether one of the former runs, and one of the latter
}

func (w *packetWorkload) add(pod labels.Set, host bool) {
	if host {
		w.host = true
		return
	}
	w.pods = append(w.pods, pod)
}

// maker is an object that makes pods.
type maker struct {
	kind     string
	meta     *metav1.ObjectMeta
	template corev1.PodTemplateSpec
	finished bool
}

// makers returns the objects of a namespace that make pods.
func (c packetCluster) makers(namespace string) (list []maker) {
	for _, o := range c {
		var m maker
		switch o := o.(type) {
		case *appsv1.Deployment:
			m = maker{"Deployment", &o.ObjectMeta, o.Spec.Template, false}
		case *appsv1.ReplicaSet:
			m = maker{"ReplicaSet", &o.ObjectMeta, o.Spec.Template, false}
		case *appsv1.StatefulSet:
			m = maker{"StatefulSet", &o.ObjectMeta, o.Spec.Template, false}
		case *appsv1.DaemonSet:
			m = maker{"DaemonSet", &o.ObjectMeta, o.Spec.Template, false}
		case *batchv1.Job:
			finished := slices.ContainsFunc(o.Status.Conditions, func(c batchv1.JobCondition) bool {
				return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
			})
			m = maker{"Job", &o.ObjectMeta, o.Spec.Template, finished}
		case *batchv1.CronJob:
			m = maker{"CronJob", &o.ObjectMeta, o.Spec.JobTemplate.Spec.Template, false}
		default:
			continue
		}
		if m.meta.Namespace == namespace {
			list = append(list, m)
		}
	}
	return list
}

// pods returns the pods of a namespace that have a network.
func (c packetCluster) pods(namespace string) (list []*corev1.Pod) {
	for _, o := range c {
		p, ok := o.(*corev1.Pod)
		if ok && p.Namespace == namespace && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			list = append(list, p)
		}
	}
	return list
}

// workloads returns the live workloads of a namespace.
func (c packetCluster) workloads(namespace string) []*packetWorkload {
	makers := c.makers(namespace)
	above := func(o *metav1.ObjectMeta) *maker {
		ref := metav1.GetControllerOf(o)
		for i := range makers {
			if ref != nil && makers[i].kind == ref.Kind && makers[i].meta.Name == ref.Name && makers[i].meta.UID == ref.UID {
				return &makers[i]
			}
		}
		return nil
	}
	// Only these are made by others.
	over := func(m *maker) *maker {
		up := above(m.meta)
		if up != nil && (m.kind == "ReplicaSet" && up.kind == "Deployment" || m.kind == "Job" && up.kind == "CronJob") {
			return up
		}
		return nil
	}
	var list []*packetWorkload
	of := func(kind, name string) *packetWorkload {
		for _, w := range list {
			if w.kind == kind && w.name == name {
				return w
			}
		}
		list = append(list, &packetWorkload{kind: kind, namespace: namespace, name: name})
		return list[len(list)-1]
	}
	for _, p := range c.pods(namespace) {
		kind, name := "Pod", p.Name
		for up := above(&p.ObjectMeta); up != nil; up = over(up) {
			kind, name = up.kind, up.meta.Name
		}
		w := of(kind, name)
		w.add(p.Labels, p.Spec.HostNetwork)
		runs := p.Status.Phase == corev1.PodRunning
		w.runs[0], w.runs[1] = w.runs[0] || runs && !p.Spec.HostNetwork, w.runs[1] || runs && p.Spec.HostNetwork
	}
	for _, m := range makers {
		w := of(m.kind, m.meta.Name)
		makes := func(m *maker) bool { return !m.finished && m.meta.DeletionTimestamp == nil }
		made := over(&m) != nil && makes(over(&m)) && len(w.pods) == 0 && !w.host
		host := m.template.Spec.HostNetwork
		if makes(&m) && !made && !(host && w.runs[1] || !host && w.runs[0]) {
			w.add(m.podLabels(), host)
		}
	}
	return slices.DeleteFunc(list, func(w *packetWorkload) bool { return len(w.pods) == 0 && !w.host })
}

// podLabels are the labels that the next pod will have: those of the template and
// those that the controller in question is documented to add.
func (m *maker) podLabels() labels.Set {
	added := labels.Set{}
	switch m.kind {
	case "Deployment":
		added["pod-template-hash"] = unheard
	case "StatefulSet":
		added["statefulset.kubernetes.io/pod-name"] = m.meta.Name + "-0"
		added["apps.kubernetes.io/pod-index"] = "0"
		added["controller-revision-hash"] = unheard
	case "DaemonSet":
		added["controller-revision-hash"], added["pod-template-generation"] = unheard, unheard
	case "Job":
		added["job-name"], added["batch.kubernetes.io/job-name"] = m.meta.Name, m.meta.Name
		added["controller-uid"], added["batch.kubernetes.io/controller-uid"] = string(m.meta.UID), string(m.meta.UID)
	case "CronJob":
		for _, key := range []string{"job-name", "batch.kubernetes.io/job-name", "controller-uid", "batch.kubernetes.io/controller-uid"} {
			added[key] = unheard
		}
	}
	return labels.Merge(added, m.template.Labels)
}

// stretch is a range of addresses outside the cluster that no block cuts. The
// packet that stands for it comes from its first address, or goes there.
type stretch struct {
	packetEnd
	public bool
	size   *big.Int
}

// everyAddress returns the stretches into which the blocks of some rules cut the
// addresses, and what is not public among them.
func everyAddress(all []packetRule) (list []stretch) {
	special := notPublic()
	var cuts []netip.Prefix
	for _, r := range all {
		for _, p := range r.peers {
			if p.IPBlock != nil {
				for _, cidr := range append([]string{p.IPBlock.CIDR}, p.IPBlock.Except...) {
					cuts = append(cuts, netip.MustParsePrefix(cidr))
				}
			}
		}
	}
	for _, family := range []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")} {
		starts := []netip.Addr{family.Addr()}
		for _, cut := range append(cuts, special...) {
			if cut.Addr().Is4() != family.Addr().Is4() {
				continue
			}
			starts = append(starts, cut.Masked().Addr())
			if next := lastOf(cut).Next(); next.IsValid() {
				starts = append(starts, next)
			}
		}
		slices.SortFunc(starts, netip.Addr.Compare)
		starts = slices.Compact(starts)
		for i, first := range starts {
			last := lastOf(family)
			if i+1 < len(starts) {
				last = starts[i+1].Prev()
			}
			public := !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(first) })
			list = append(list, stretch{packetEnd{addr: first}, public, distance(first, last)})
		}
	}
	return list
}

// notPublic are the addresses that are not of the public internet: what the
// registry of special addresses (RFC 6890) takes out of IPv4, and of IPv6 all
// that is not global unicast.
func notPublic() (list []netip.Prefix) {
	for _, s := range []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
		"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"::/3", "4000::/2", "8000::/1",
	} {
		list = append(list, netip.MustParsePrefix(s))
	}
	return list
}

func lastOf(p netip.Prefix) netip.Addr {
	bytes := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < 8*len(bytes); i++ {
		bytes[i/8] |= 1 << (7 - i%8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// distance returns how many addresses there are from the first to the last.
func distance(first, last netip.Addr) *big.Int {
	n := new(big.Int).Sub(new(big.Int).SetBytes(last.AsSlice()), new(big.Int).SetBytes(first.AsSlice()))
	return n.Add(n, big.NewInt(1))
}

package policy

import (
	"cmp"
	"maps"
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
	"github.com/eventuallytrue/audit/rules/workloads"
)

// inhabitants are the namespaces that exist, and the pods in them. They are listed when
// they are asked for, which in most clusters they never are.
type inhabitants struct {
	view       *snapshot.View
	live       map[string][]*workloads.Workload
	namespaces []inhabited // sorted by name
	// carrying are the namespaces, by their places, that carry a label, and holding
	// those with pods that do: by key and value, and for pods only of the keys asked
	// for so far. podKeys are all that pods have, nil before they are needed.
	carrying, holding map[string]map[string][]int
	podKeys           map[string]bool
	nearly            map[string]bool // results of admittedBy
}

type inhabited struct {
	name   string
	labels snapshot.Labels
	pods   []workloads.Pod // a workload's once each, without those in the host's network
}

func newInhabitants(v *snapshot.View, live map[string][]*workloads.Workload) *inhabitants {
	return &inhabitants{view: v, live: live}
}

func (x *inhabitants) list() {
	if x.nearly != nil {
		return
	}
	x.nearly = map[string]bool{}
	names := map[string]snapshot.Labels{}
	for name := range x.live {
		names[name] = snapshot.Labels{}
	}
	for ns := range x.view.Namespaces() {
		names[ns.Name] = ns.Labels
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		n := inhabited{name: name, labels: names[name].With(snapshot.NamespaceNameLabel, name)}
		for _, w := range x.live[name] {
			n.pods = append(n.pods, w.Pods...)
		}
		x.namespaces = append(x.namespaces, n)
	}
}

// maxCompared bounds how often a pod or a namespace is held against a selector for one
// list of peers. Lists that need more count as admitting nearly everybody: they are a
// thousand selectors of many pods each, and their author could have written fewer.
const maxCompared = 1 << 22

// admittedBy reports whether peers admit nearly every pod of nearly every namespace that
// exists, not counting the policy's own, which is empty for a cluster-wide policy. The
// namespaces that do not exist yet, and the plainest pods, must be admitted too: so a
// list of names is never nearly everything, however few namespaces there are.
func (x *inhabitants) admittedBy(peers *snapshot.Peers, own string) bool {
	base := slices.IndexFunc(peers.Pods, isPlain)
	if x == nil || base < 0 {
		return false
	}
	x.list()
	key := own + "\x00" + selectorsKey(0, pairsOf(peers))
	if known, ok := x.nearly[key]; ok {
		return known
	}
	others := len(x.namespaces)
	if _, exists := slices.BinarySearchFunc(x.namespaces, own, func(n inhabited, name string) int { return cmp.Compare(n.name, name) }); exists {
		others--
	}
	left, compared := 0, 0
	for _, i := range x.leftBy(&peers.Pods[base]) {
		if compared > maxCompared || !few(left, others) {
			break
		}
		if n := &x.namespaces[i]; n.name != own && !n.admittedBy(peers.Pods, &compared) {
			left++
		}
	}
	x.nearly[key] = few(left, others)
	return x.nearly[key]
}

// isPlain reports whether a peer selects pods without labels in namespaces without any
// but their name, whatever it is.
func isPlain(p snapshot.PodPeer) bool {
	meets := func(s snapshot.Selector, always string) bool {
		return !slices.ContainsFunc(s, func(r snapshot.Requirement) bool { return !r.Holds(unmentioned, r.Key == always) })
	}
	return !p.OwnNamespace && meets(p.Namespaces, snapshot.NamespaceNameLabel) && meets(p.Pods, snapshot.ServiceAccountKey)
}

// leftBy returns the places of the namespaces of which a plain peer may leave out
// something, sorted.
func (x *inhabitants) leftBy(p *snapshot.PodPeer) []int {
	var out []int
	add := func(index map[string][]int, r snapshot.Requirement) {
		if r.Op == snapshot.NotIn {
			for _, value := range r.Values {
				out = append(out, index[value]...)
			}
			return
		}
		for value, places := range index {
			if !r.Holds(value, true) {
				out = append(out, places...)
			}
		}
	}
	for _, r := range p.Namespaces {
		add(x.ofNamespaces(r.Key), r)
	}
	for _, r := range p.Pods {
		add(x.ofPods(r.Key), r)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (x *inhabitants) ofNamespaces(key string) map[string][]int {
	if x.carrying == nil {
		x.carrying = map[string]map[string][]int{}
		for i := range x.namespaces {
			for key, value := range x.namespaces[i].labels.All() {
				if x.carrying[key] == nil {
					x.carrying[key] = map[string][]int{}
				}
				x.carrying[key][value] = append(x.carrying[key][value], i)
			}
		}
	}
	return x.carrying[key]
}

func (x *inhabitants) ofPods(key string) map[string][]int {
	if x.podKeys == nil {
		x.podKeys, x.holding = map[string]bool{snapshot.ServiceAccountKey: true}, map[string]map[string][]int{}
		for i := range x.namespaces {
			for _, pod := range x.namespaces[i].pods {
				for key := range pod.Labels.All() {
					x.podKeys[key] = true
				}
			}
		}
	}
	if index, ok := x.holding[key]; ok || !x.podKeys[key] {
		return index
	}
	index := map[string][]int{}
	for i := range x.namespaces {
		for _, pod := range x.namespaces[i].pods {
			value, ok := labelOf(&pod, key)
			if places := index[value]; ok && (len(places) == 0 || places[len(places)-1] != i) {
				index[value] = append(places, i)
			}
		}
	}
	x.holding[key] = index
	return index
}

// labelOf returns a label of a pod, or what selectors have for one.
func labelOf(pod *workloads.Pod, key string) (value string, ok bool) {
	if key == snapshot.ServiceAccountKey {
		return cmp.Or(pod.ServiceAccount, snapshot.DefaultServiceAccount), true
	}
	return pod.Labels.Get(key)
}

// admittedBy reports whether peers admit plain pods in the namespace, and nearly all that
// are there.
func (n *inhabited) admittedBy(peers []snapshot.PodPeer, compared *int) bool {
	var here []snapshot.Selector
	plain := false
	for i := range peers {
		p := &peers[i]
		*compared++
		if p.OwnNamespace || !p.Namespaces.Matches(n.labels) {
			continue
		}
		if len(p.Pods) == 0 {
			return true
		}
		plain = plain || isPlain(snapshot.PodPeer{Pods: p.Pods})
		here = append(here, p.Pods)
	}
	if !plain {
		return false
	}
	left := 0
	for i := range n.pods {
		fails := func(r snapshot.Requirement) bool {
			value, ok := labelOf(&n.pods[i], r.Key)
			return !r.Holds(value, ok)
		}
		if !slices.ContainsFunc(here, func(s snapshot.Selector) bool {
			*compared++
			return !slices.ContainsFunc(s, fails)
		}) {
			left++
		}
	}
	return few(left, len(n.pods))
}

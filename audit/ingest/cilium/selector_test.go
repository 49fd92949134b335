package cilium_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestSubject(t *testing.T) {
	const name = "kubernetes.io/metadata.name"
	in := func(key string, values ...string) snapshot.Requirement {
		return snapshot.Requirement{Key: key, Op: snapshot.In, Values: values}
	}
	const account = "io.cilium.k8s.policy.serviceaccount"
	asks := func(expression string) string { return "{matchExpressions: [{key: " + expression + "}]}" }
	noPod := snapshot.Selector{{Op: snapshot.In}}
	own, none := snapshot.PodPeer{OwnNamespace: true}, snapshot.PodPeer{OwnNamespace: true, Pods: noPod}
	for title, row := range map[string]struct {
		namespace, selector string
		want                snapshot.PodPeer
	}{
		"an empty selector is for the namespace":      {"team-a", "{}", own},
		"and for every namespace where there is none": {"", "{}", snapshot.PodPeer{}},
		"its own namespace may be named":              {"team-a", "{matchLabels: {'k8s:io.kubernetes.pod.namespace': team-a}}", own},
		"a namespace of others is out of reach":       {"team-a", "{matchLabels: {io.kubernetes.pod.namespace: team-b}}", none},
		"every namespace is its own":                  {"team-a", asks("io.kubernetes.pod.namespace, operator: Exists"), own},
		"every pod has an account":                    {"team-a", asks(account + ", operator: Exists"), own},
		"some pods have an account": {
			"team-a", "{matchLabels: {app: web, 'k8s:" + account + "': web}}",
			snapshot.PodPeer{OwnNamespace: true, Pods: snapshot.Selector{in("app", "web"), in(snapshot.ServiceAccountKey, "web")}},
		},
		"others have another": {
			"team-a", asks(account + ", operator: NotIn, values: [web]"),
			snapshot.PodPeer{OwnNamespace: true, Pods: snapshot.Selector{{Key: snapshot.ServiceAccountKey, Op: snapshot.NotIn, Values: []string{"web"}}}},
		},
		"who is in one cluster is not known": {
			"team-a", asks("io.cilium.k8s.policy.cluster, operator: In, values: [east]"),
			snapshot.PodPeer{OwnNamespace: true, Pods: snapshot.Selector{{Key: "service account label of a Cilium endpoint", Op: snapshot.Exists}}},
		},
		"hosts are no pods":          {"", "{matchLabels: {'reserved:host': ''}}", snapshot.PodPeer{Pods: noPod}},
		"all but hosts is every pod": {"", asks("'reserved:host', operator: DoesNotExist"), snapshot.PodPeer{}},
		"a namespace is selected by name": {
			"", "{matchLabels: {io.kubernetes.pod.namespace: team-a, 'any:app': web}}",
			snapshot.PodPeer{Namespaces: snapshot.Selector{in(name, "team-a")}, Pods: snapshot.Selector{in("app", "web")}},
		},
		"a namespace is selected by label": {
			"", "{matchLabels: {io.cilium.k8s.namespace.labels.kubernetes.io/metadata.name: team-a}}",
			snapshot.PodPeer{Namespaces: snapshot.Selector{in(name, "team-a")}},
		},
		"its own namespace is asked for its labels": {
			"team-a", "{matchLabels: {io.cilium.k8s.namespace.labels.env: prod}}",
			snapshot.PodPeer{Namespaces: snapshot.Selector{in("env", "prod"), in(name, "team-a")}},
		},
	} {
		t.Run(title, func(t *testing.T) {
			p := cilium(t, row.namespace, "endpointSelector: "+row.selector+"\ningress: [{}]")
			if p.Invalid != "" {
				t.Fatal(p.Invalid)
			}
			same(t, snapshot.Subject{row.want}, p.Subject)
		})
	}
}

func TestConfig(t *testing.T) {
	const own = "{namespace: kube-system, name: cilium-config}"
	const elsewhere = "{namespace: cilium, name: cilium-config}"
	const audits = "policy-audit-mode: true"
	for title, row := range map[string]struct {
		metadata, data string
		off            string
		isolatesAll    bool
	}{
		"never is off":              {own, "{enable-policy: Never}", "enable-policy: never", false},
		"to audit is off":           {elsewhere, `{enable-policy: always, policy-audit-mode: "true"}`, audits, false},
		"always isolates every pod": {own, "{enable-policy: always}", "", true},
		"the default says nothing":  {own, `{enable-policy: default, policy-audit-mode: "false"}`, "", false},
		"no settings say nothing":   {own, "null", "", false},
		"a kind is switched off": {
			own, `{enable-policy: default, enable-k8s-networkpolicy: "False"}`,
			"networkpolicies.networking.k8s.io enable-k8s-networkpolicy: false", false,
		},
		"several kinds are": {
			elsewhere, `{enable-cilium-network-policy: "false", enable-cilium-clusterwide-network-policy: " 0 "}`,
			"ciliumnetworkpolicies.cilium.io enable-cilium-network-policy: false " +
				"ciliumclusterwidenetworkpolicies.cilium.io enable-cilium-clusterwide-network-policy: false", false,
		},
		"a switch that is on says nothing":  {own, `{enable-k8s-networkpolicy: "true", enable-cilium-network-policy: ""}`, "", false},
		"what is no bool says nothing":      {own, `{enable-k8s-networkpolicy: "no"}`, "", false},
		"a kind is off although all are on": {own, `{enable-policy: always, enable-k8s-networkpolicy: "false"}`, "networkpolicies.networking.k8s.io enable-k8s-networkpolicy: false", true},
		"another name says nothing":         {"{namespace: kube-system, name: other}", "{enable-policy: never}", "", false},
		"another place says nothing":        {"{namespace: team-a, name: cilium-config}", "{enable-policy: never}", "", false},
		"what others hold may be wrong":     {"{namespace: team-a, name: other}", "[1, 2]", "", false},
	} {
		t.Run(title, func(t *testing.T) {
			facts := take(t, snapshot.CiliumConfigs, "metadata: "+row.metadata+"\ndata: "+row.data)
			off := ""
			for _, e := range facts.Enforcements {
				off = strings.TrimSpace(off + " " + strings.TrimSpace(string(e.Kind)+" "+e.Off))
			}
			if off != row.off {
				t.Errorf("want it switched off by %q, got %q", row.off, off)
			}
			isolated := len(facts.Policies) == 1 && facts.Policies[0].Isolates == [2]bool{true, true} && facts.Policies[0].Invalid == ""
			if isolated != row.isolatesAll {
				t.Errorf("want a policy for every pod: %v, got %+v", row.isolatesAll, facts.Policies)
			}
		})
	}
}

// FuzzSelector uses a label selector in a policy of Cilium, which has more kinds of keys: a
// policy of a namespace selects no pod of another one.
func FuzzSelector(f *testing.F) {
	for _, seed := range []string{
		`{}`,
		`{"matchLabels":{"a":"x","b":""}}`,
		`{"matchLabels":{"a":"x"},"matchExpressions":[{"key":"a","operator":"NotIn","values":["x","y"]}]}`,
		`{"matchExpressions":[{"key":"a","operator":"In","values":["y","x","x"]},{"key":"a","operator":"Exists"}]}`,
		`{"matchExpressions":[{"key":"a","operator":"NotIn","values":["x"]},{"key":"b","operator":"DoesNotExist","values":[]}]}`,
		`{"matchExpressions":[{"key":"a","operator":"In"}]}`,
		`{"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]}`,
		`{"matchExpressions":[{"key":"","operator":""}],"matchLabels":{"":"-","k8s:a.b/c":"\u202e"}}`,
		`{"matchLabels":{"any:io.cilium.k8s.namespace.labels.env":"prod","reserved:host":"","io.kubernetes.pod.namespace":"b"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, selector []byte) {
		var s metav1.LabelSelector
		if json.Unmarshal(selector, &s) != nil {
			return
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		spec := fmt.Sprintf(`{"endpointSelector": %s, "ingress": [{"fromEndpoints": [%s]}]}`, text, text)
		for _, namespace := range []string{"team-a", ""} {
			p := cilium(t, namespace, spec)
			peers := p.Subject
			for _, r := range p.Rules[snapshot.DirectionIngress] {
				peers = append(peers, r.Peers.Pods...)
			}
			for _, peer := range peers {
				if !slices.IsSortedFunc(peer.Pods, byKey) || !slices.IsSortedFunc(peer.Namespaces, byKey) {
					t.Errorf("requirements are out of order: %+v", peer)
				}
			}
			elsewhere := snapshot.NewLabels(map[string]string{"kubernetes.io/metadata.name": "team-b"})
			for _, peer := range p.Subject {
				if namespace != "" && !peer.OwnNamespace && peer.Namespaces.Matches(elsewhere) {
					t.Errorf("a policy of team-a selects pods of team-b: %+v", peer)
				}
			}
		}
	})
}

func byKey(a, b snapshot.Requirement) int { return cmp.Compare(a.Key, b.Key) }

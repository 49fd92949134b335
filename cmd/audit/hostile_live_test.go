package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// TestLiveHostileCases applies what a tenant may write in order to hide to a real API
// server, which stores it, and compares the live sweep with what the case expects.
func TestLiveHostileCases(t *testing.T) {
	c := control.ClusterWithCRDs(t)
	// Kinds that no other test may find: one that is served and not read is an advisory.
	unread := filepath.Join(t.TempDir(), "definitions.yaml")
	writeFile(t, unread, unreadKinds)
	if err := c.InstallCRDs(t.Context(), unread); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := c.Kubectl(context.Background(), "delete", "--wait=true", "-f", unread); err != nil {
			t.Error(err)
		}
	})
	for name, hostile := range readReported(t, "hostile") {
		t.Run(name, func(t *testing.T) {
			if err := c.Empty(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := applyCase(t, c, hostile.path); err != nil {
				t.Fatal(err)
			}
			for _, mistake := range hostile.mistakes(t, "--kubeconfig", c.Kubeconfig(kubetest.Admin)) {
				t.Error(mistake)
			}
		})
	}
}

// unreadKinds are definitions of kinds that carry hosts and are not read.
const unreadKinds = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: hosts.getambassador.io}
spec:
  group: getambassador.io
  names: {kind: Host, plural: hosts, singular: host, listKind: HostList}
  scope: Namespaced
  versions: [{name: v3alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: virtualhosts.proxy.example.org}
spec:
  group: proxy.example.org
  names: {kind: VirtualHost, plural: virtualhosts, singular: virtualhost, listKind: VirtualHostList}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

const (
	shopChannel  = "C0200000001"
	thiefChannel = "C0200000002"
)

// neighborhood is a cluster in which sweeps are published with the clock of the machine,
// because an API server sets the times of deletions.
type neighborhood struct {
	c     *kubetest.Cluster
	slack *fakeslack.Server
	args  []string
}

// newNeighborhood returns a cluster in which the team shop has the namespaces shop-* and
// the team thief has thief-*.
func newNeighborhood(t *testing.T, settings string) *neighborhood {
	t.Helper()
	c := control.Cluster(t)
	n := &neighborhood{c: c, args: allowToPublish(t, c)}
	n.slack = fakeslack.Start(t, fakeslack.Config{
		Token: botToken, Interval: -1,
		Channels: map[string]fakeslack.Membership{shopChannel: fakeslack.Member, thiefChannel: fakeslack.Member},
		Allowed:  []string{"<#" + shopChannel + ">", "<#" + thiefChannel + ">"},
	})
	token := filepath.Join(t.TempDir(), "token")
	writeFile(t, token, botToken)
	config := configured(t, fmt.Sprintf(`
cluster: test
owners:
  teams:
    - {name: shop, namespaces: ["shop-*"], slack: {channel: %s}}
    - {name: thief, namespaces: ["thief-*"], slack: {channel: %s}}
slack: {tokenFile: %s}
%s`, shopChannel, thiefChannel, token, settings))
	n.args = append(n.args, "--config", config, "--slack-api-url", n.slack.APIURL())
	return n
}

// publish runs a published sweep, which must end with the code, and returns the state of
// each stored finding on a host.
func (n *neighborhood) publish(t *testing.T, code int) map[string]string {
	t.Helper()
	got := executeAt(time.Now(), nil, append([]string{"--once", "-o", "json"}, n.args...)...)
	if got.code != code {
		t.Fatalf("exit %d: %s; %v; %+v", got.code, got.stderr, decode(t, got.stdout).Failures, n.slack.Refusals())
	}
	states := map[string]string{}
	for _, f := range stored(t, n.c) {
		if f.Rule == "one-owner-per-host" {
			states[f.Subject.Name] = f.State
		}
	}
	return states
}

// notified reports whether any message in a channel has the text.
func (n *neighborhood) notified(channel, text string) bool {
	return slices.ContainsFunc(n.slack.Messages(), func(m fakeslack.Message) bool {
		return m.Channel == channel && strings.Contains(m.Text+string(m.Blocks), text)
	})
}

// claimOf returns an Ingress of a namespace that claims a host.
func claimOf(namespace, name, host string, finalizers ...string) string {
	return fmt.Sprintf(`---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: %s, namespace: %s, finalizers: [%s]}
spec:
  ingressClassName: nginx
  rules: [{host: %s, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]
`, name, namespace, strings.Join(finalizers, ", "), host)
}

func namespaces(names ...string) string {
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintf(&text, "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", name)
	}
	return text.String()
}

// TestDeletingHidesNothing holds what a thief deletes for as long as the API server keeps
// it: it opens a finding or leaves it open, its victim is notified, and only the end of the
// object resolves it.
func TestDeletingHidesNothing(t *testing.T) {
	n := newNeighborhood(t, "")
	const held, ending, again, open = "held.example.com", "ending.example.com", "again.example.com", "open.example.com"
	remove := func(kind, namespace, name string) {
		kubectl(t, n.c, "delete", "--wait=false", kind, name, "-n", namespace)
	}
	release := func(namespace, name string) {
		kubectl(t, n.c, "patch", "ingress", name, "-n", namespace, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	}
	expect := func(when string, want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, n.publish(t, 0)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", when, diff)
		}
	}

	applyText(t, n.c, namespaces("shop-a", "thief-a", "thief-b")+claimOf("shop-a", "held", held)+claimOf("shop-a", "ending", ending)+
		claimOf("shop-a", "again", again)+claimOf("shop-a", "open", open)+
		claimOf("thief-a", "held", held, "example.com/keep")+claimOf("thief-a", "again-1", again, "example.com/keep")+
		claimOf("thief-a", "open", open, "example.com/keep")+claimOf("thief-b", "ending", ending))
	remove("ingress", "thief-a", "held")
	remove("ingress", "thief-a", "again-1")
	remove("namespace", "", "thief-b")
	expect("first sweep", map[string]string{held: "Pending", ending: "Pending", again: "Pending", open: "Open"})
	for _, host := range []string{held, ending, again} {
		if n.notified(shopChannel, host) {
			t.Errorf("the owner is notified of %s, which is pending", host)
		}
	}

	// What was open is being deleted, and what was deleted is gone and there again.
	remove("ingress", "thief-a", "open")
	release("thief-a", "again-1")
	applyText(t, n.c, claimOf("thief-a", "again-2", again, "example.com/keep"))
	remove("ingress", "thief-a", "again-2")
	all := map[string]string{held: "Open", ending: "Open", again: "Open", open: "Open"}
	expect("second sweep", all)
	for host := range all {
		if !n.notified(shopChannel, host) {
			t.Errorf("the owner is not notified of %s", host)
		}
	}

	release("thief-a", "again-2")
	applyText(t, n.c, claimOf("thief-a", "again-3", again, "example.com/keep"))
	remove("ingress", "thief-a", "again-3")
	expect("third sweep", all)
	if n.notified(shopChannel, "esolved") {
		t.Error("the owner is notified that something is resolved")
	}

	for _, name := range []string{"held", "open", "again-3"} {
		release("thief-a", name)
	}
	remove("ingress", "thief-b", "ending")
	expect("everything is gone", map[string]string{held: "Resolved", ending: "Resolved", again: "Resolved", open: "Resolved"})
	if !n.notified(shopChannel, "esolved") {
		t.Error("the owner is not notified that everything is resolved")
	}
}

// TestDecoysHideNothing: of what one namespace causes, a bound is stored, and that folds
// away no finding of an owner who has no other from it.
func TestDecoysHideNothing(t *testing.T) {
	n := newNeighborhood(t, "limits: {storedFindings: 4}\n")
	var text strings.Builder
	text.WriteString(namespaces("shop-a", "thief-a", "other") + claimOf("shop-a", "shop", "zzz.example.com"))
	for i := range 12 {
		host := fmt.Sprintf("decoy-%02d.example.com", i)
		text.WriteString(claimOf("other", fmt.Sprint("decoy-", i), host) + claimOf("thief-a", fmt.Sprint("decoy-", i), host))
	}
	applyText(t, n.c, text.String())
	applyText(t, n.c, claimOf("thief-a", "theft", "zzz.example.com"))
	states := n.publish(t, exitIncomplete)
	if states["zzz.example.com"] != "Open" || !n.notified(shopChannel, "zzz.example.com") {
		t.Errorf("the theft is %q, its victim is notified: %t", states["zzz.example.com"], n.notified(shopChannel, "zzz.example.com"))
	}
	if len(states) > 8 {
		t.Errorf("%d findings are stored", len(states))
	}
}

package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

const channels = `
owners:
  teams:
    - {name: team-a, namespaces: [shop], slack: {channel: C0A}}
    - {name: team-b, slack: {webhookFile: hooks/b}}
    - {name: team-c, namespaces: [lab]}
slack: {channelFrom: {namespaceAnnotation: example.com/channel, allow: ["team-*"]}}
`

// snapshotOf returns a snapshot of Namespaces, as they are read for a config.
func snapshotOf(c *config.Config, namespaces map[string]marks, more snapshot.Facts) *snapshot.Snapshot {
	in := ingest.New(c.Owners.Keys).KeepChannel(c.Slack.ChannelFrom.NamespaceAnnotation)
	for name, m := range namespaces {
		more.Namespaces = append(more.Namespaces, in.Namespace(&corev1.Namespace{ObjectMeta: m.meta("", name)}))
	}
	return freeze(more)
}

func TestOwnership(t *testing.T) {
	withFallback := strings.Replace(channels, "owners:", "owners:\n  fallback: team-b", 1)
	channel := func(value string) marks { return annotation("example.com/channel", value) }
	for _, c := range []struct {
		says, config string
		namespace    string
		marks        marks
		want         audit.NamespaceOwner
		told         audit.Destination
	}{
		{
			"a claim of the registry decides, and its channel is used", channels, "shop", label("owner", "team-b"),
			audit.NamespaceOwner{Owner: "team-a", By: `namespaces "shop"`, Registry: true},
			audit.Destination{Channel: "C0A", From: audit.FromRegistry},
		}, {
			"a key of the Namespace decides next, and leads to the registry", channels, "x", label("owner", "team-b"),
			audit.NamespaceOwner{Owner: "team-b", By: "label owner of the Namespace"},
			audit.Destination{WebhookFile: "hooks/b", From: audit.FromRegistry},
		}, {
			"an owner that the registry does not know has no place", channels, "x", annotation("team", "team-z"),
			audit.NamespaceOwner{Owner: "team-z", By: "annotation team of the Namespace"},
			audit.Destination{From: audit.FromNone},
		}, {
			"without any owner the namespace is its own", channels, "x",
			marks{},
			audit.NamespaceOwner{Owner: "namespace x", By: audit.ByNone},
			audit.Destination{From: audit.FromNone},
		}, {
			"or the fallback stands in for it", withFallback, "x",
			marks{},
			audit.NamespaceOwner{Owner: "team-b", By: audit.ByFallback},
			audit.Destination{WebhookFile: "hooks/b", From: audit.FromFallback},
		}, {
			"a shared namespace says so", channels, "x", label("eventuallytrue.dev/shared", "true"),
			audit.NamespaceOwner{Owner: "namespace x", By: audit.ByNone, Shared: true},
			audit.Destination{From: audit.FromNone},
		}, {
			"a Namespace names the channel of an owner without one", channels, "lab", channel("#team-lab"),
			audit.NamespaceOwner{Owner: "team-c", By: `namespaces "lab"`, Registry: true, Channel: "team-lab", Allowed: true},
			audit.Destination{Channel: "team-lab", From: audit.FromAnnotation},
		}, {
			"and its own where nobody owns it: the fallback is not needed", withFallback, "x", channel("team-x"),
			audit.NamespaceOwner{Owner: "namespace x", By: audit.ByNone, Channel: "team-x", Allowed: true},
			audit.Destination{Channel: "team-x", From: audit.FromAnnotation},
		}, {
			"it does not lead a team away from its channel", channels, "shop", channel("team-x"),
			audit.NamespaceOwner{Owner: "team-a", By: `namespaces "shop"`, Registry: true, Channel: "team-x", Allowed: true},
			audit.Destination{Channel: "C0A", From: audit.FromRegistry},
		}, {
			"a channel that is not allowed is only shown", channels, "lab", channel("general"),
			audit.NamespaceOwner{Owner: "team-c", By: `namespaces "lab"`, Registry: true, Channel: "general"},
			audit.Destination{From: audit.FromNone},
		}, {
			"without the switch an annotation says nothing", registry, "x", channel("team-x"),
			audit.NamespaceOwner{Owner: "namespace x", By: audit.ByNone},
			audit.Destination{From: audit.FromNone},
		},
	} {
		t.Run(c.says, func(t *testing.T) {
			cfg := parse(t, c.config)
			c.want.Namespace = c.namespace
			got := audit.Ownership(snapshotOf(cfg, map[string]marks{c.namespace: c.marks}, snapshot.Facts{}), cfg)
			if diff := cmp.Diff([]audit.NamespaceOwner{c.want}, got); diff != "" {
				t.Fatalf("ownership (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.told, audit.DestinationOf(got[0], cfg)); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOwnersOfSeveralNamespacesHaveOneChannel(t *testing.T) {
	cfg := parse(t, channels)
	owned := func(channel string) marks {
		return marks{labels: map[string]string{"owner": "team-z"}, annotations: map[string]string{"example.com/channel": channel}}
	}
	naming := audit.ChannelNamespaces(audit.Ownership(snapshotOf(cfg, map[string]marks{
		"d": owned("team-d"), "c": owned("team-c"), "b": owned("general"), "a": label("owner", "team-z"),
		"shop": annotation("example.com/channel", "team-shop"),
	}, snapshot.Facts{}), cfg))
	got := map[string]string{}
	for owner, n := range naming {
		got[owner] = n.Namespace + " names " + n.Channel
	}
	if diff := cmp.Diff(map[string]string{"team-z": "c names team-c", "team-a": "shop names team-shop"}, got); diff != "" {
		t.Errorf("channels (-want +got):\n%s", diff)
	}
}

func TestOwnershipHasEveryNamespaceInOrder(t *testing.T) {
	cfg := parse(t, channels)
	snap := snapshotOf(cfg, map[string]marks{"b": {}, "a": {}, "lab": {}}, snapshot.Facts{
		Pods: []snapshot.Pod{{Meta: snapshot.Meta{Kind: "Pod", Namespace: "shop", Name: "web"}}},
	})
	var got []string
	for _, o := range audit.Ownership(snap, cfg) {
		got = append(got, fmt.Sprintf("%s: %s by %s", o.Namespace, o.Owner, o.By))
	}
	want := []string{
		"a: namespace a by none", "b: namespace b by none", `lab: team-c by namespaces "lab"`, `shop: team-a by namespaces "shop"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ownership (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(audit.Ownership(snap, cfg), audit.Evaluate(snap, nil, cfg, now, nil).Ownership); diff != "" {
		t.Errorf("an evaluation has another ownership (-want +got):\n%s", diff)
	}
}

func TestChannelThatIsNotAllowedIsAnAdvisory(t *testing.T) {
	cfg := parse(t, channels)
	snap := snapshotOf(cfg, map[string]marks{
		"allowed": annotation("example.com/channel", "team-x"),
		"lab":     annotation("example.com/channel", "<!channel>"),
		"silent":  {},
	}, snapshot.Facts{})
	var got []string
	for _, a := range audit.Evaluate(snap, nil, cfg, now, nil).Advisories {
		got = append(got, fmt.Sprintf("%s: %s %s of %v: %s", a.Rule, a.Subject.Kind, a.Subject, a.Owners, a.Message))
	}
	want := []string{
		"config: Namespace lab of [team-c]: annotation example.com/channel of the Namespace names channel <!channel>, " +
			"which slack.channelFrom does not allow: nothing is sent there",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("advisories (-want +got):\n%s", diff)
	}
}

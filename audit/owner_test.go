package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/hosts"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// ownerCase is one sentence of how owners are found. It asks for the owner of an
// Ingress in namespace shop unless it says otherwise.
type ownerCase struct {
	name      string
	config    string
	namespace marks // of Namespace shop
	missing   bool  // the snapshot has no Namespace shop
	object    marks // of the Ingress
	want      rules.Owner
	notified  string // if not the owner's name
}

// owned is the owner of an object in namespace shop.
func owned(name, source string) rules.Owner {
	return rules.Owner{Name: name, Namespace: "shop", Source: source}
}

// unverified is the owner that an object in namespace shop names if no one else does.
func unverified(name, source string) rules.Owner {
	owner := owned(name, source)
	owner.Unverified = true
	return owner
}

// contradicted is team-a, whose namespace has an object that is signed team-b.
func contradicted(source string) rules.Owner {
	owner := owned("team-a", source)
	owner.Contradicts = snapshot.OwnerKey{Value: "team-b", Key: "owner"}
	return owner
}

func (c ownerCase) run(t *testing.T) {
	cfg := parse(t, c.config)
	in := ingest.New(cfg.Owners.Keys)
	facts := snapshot.Facts{Ingresses: []snapshot.Ingress{
		in.Ingress(&networkingv1.Ingress{ObjectMeta: c.object.meta("shop", "web")}),
	}}
	if !c.missing {
		facts.Namespaces = append(facts.Namespaces, in.Namespace(&corev1.Namespace{ObjectMeta: c.namespace.meta("", "shop")}))
	}
	notified := c.notified
	if notified == "" {
		notified = c.want.Name
	}
	var got rules.Owner
	probe := rule("probe", func(in rules.Input) (rules.Result, error) {
		got = in.Owner(&facts.Ingresses[0].Meta)
		return rules.Result{Violations: []rules.Violation{{Owners: []rules.Owner{got}}}}, nil
	})
	ev := audit.Evaluate(freeze(facts), []*rules.Rule{probe}, cfg, now, nil)
	if diff := cmp.Diff(c.want, got); diff != "" {
		t.Errorf("owner (-want +got):\n%s", diff)
	}
	if len(ev.Findings) != 1 {
		t.Fatalf("got %d findings of one violation", len(ev.Findings))
	}
	if diff := cmp.Diff([]string{notified}, ev.Findings[0].Owners); diff != "" {
		t.Errorf("notified (-want +got):\n%s", diff)
	}
}

const registry = `owners: {teams: [{name: team-a, namespaces: ["sh*"]}, {name: team-b, namespaces: [shop]}]}`

func TestOwner(t *testing.T) {
	for _, c := range []ownerCase{
		{
			name:   "a namespace pattern in the registry decides, and the first team in the file that matches",
			config: registry,
			want:   owned("team-a", `namespaces "sh*"`),
		}, {
			name:      "a label selector in the registry decides by the labels of the Namespace",
			config:    `owners: {teams: [{name: team-a, namespaceSelector: {matchLabels: {tenant: "7"}}}]}`,
			namespace: label("tenant", "7"),
			want:      owned("team-a", "namespaceSelector tenant=7"),
		}, {
			name:     "a label selector in the registry does not look at the labels of the object",
			config:   `owners: {teams: [{name: team-a, namespaceSelector: {matchLabels: {tenant: "7"}}}]}`,
			object:   label("tenant", "7"),
			want:     rules.Owner{Namespace: "shop"},
			notified: "namespace shop",
		}, {
			name:      "the registry is stronger than the owner key on the Namespace",
			config:    registry,
			namespace: label("owner", "team-c"),
			want:      owned("team-a", `namespaces "sh*"`),
		}, {
			name:   "the registry is stronger than the object's key, which is reported as a contradiction",
			config: registry,
			object: label("owner", "team-b"),
			want:   contradicted(`namespaces "sh*"`),
		}, {
			name:      "the registry is stronger than the object's key in a shared namespace, without a word",
			config:    registry,
			namespace: label("eventuallytrue.dev/shared", "true"),
			object:    label("owner", "team-b"),
			want:      owned("team-a", `namespaces "sh*"`),
		}, {
			name:      "a label of the Namespace names the owner of what is in it",
			namespace: label("owner", "team-a"),
			want:      owned("team-a", "label owner of the Namespace"),
		}, {
			name:      "an annotation of the Namespace names the owner of what is in it",
			namespace: annotation("a8r.io/owner", "team-a"),
			want:      owned("team-a", "annotation a8r.io/owner of the Namespace"),
		}, {
			name:      "the order of the keys in the config decides, not that of the alphabet",
			config:    `owners: {keys: [team, owner]}`,
			namespace: marks{labels: map[string]string{"owner": "team-b", "team": "team-a"}},
			want:      owned("team-a", "label team of the Namespace"),
		}, {
			name:      "an annotation of an earlier key comes before the label of a later one",
			config:    `owners: {keys: [team, owner]}`,
			namespace: marks{labels: map[string]string{"owner": "team-b"}, annotations: map[string]string{"team": "team-a"}},
			want:      owned("team-a", "annotation team of the Namespace"),
		}, {
			name:      "of one key the label comes before the annotation",
			namespace: marks{labels: map[string]string{"owner": "team-a"}, annotations: map[string]string{"owner": "team-b"}},
			want:      owned("team-a", "label owner of the Namespace"),
		}, {
			name:      "a key that the config does not name says nothing",
			config:    `owners: {keys: [team]}`,
			namespace: label("owner", "team-a"),
			want:      rules.Owner{Namespace: "shop"},
			notified:  "namespace shop",
		}, {
			name:      "a blank value says nothing, and blanks around a value do not count",
			namespace: marks{labels: map[string]string{"owner": ""}, annotations: map[string]string{"owner": " \t", "team": " team-a\n"}},
			want:      owned("team-a", "annotation team of the Namespace"),
		}, {
			name:   "the object's label says who is notified if the Namespace names no owner, and is not verified",
			object: label("owner", "team-b"),
			want:   unverified("team-b", "label owner of the Ingress"),
		}, {
			name:   "so does the object's annotation",
			object: annotation("team", "team-b"),
			want:   unverified("team-b", "annotation team of the Ingress"),
		}, {
			name:      "the label that shares a namespace does not say whose it is",
			namespace: label("eventuallytrue.dev/shared", "true"),
			object:    label("owner", "team-b"),
			want:      unverified("team-b", "label owner of the Ingress"),
		}, {
			name:      "in a namespace shared by label the object's key is stronger than the Namespace's",
			namespace: marks{labels: map[string]string{"owner": "team-a", "eventuallytrue.dev/shared": "true"}},
			object:    label("owner", "team-b"),
			want:      owned("team-b", "label owner of the Ingress"),
		}, {
			name:      "in a namespace shared by config the object's key is stronger than the Namespace's",
			config:    `owners: {sharedNamespaces: ["sh?p"]}`,
			namespace: label("owner", "team-a"),
			object:    label("owner", "team-b"),
			want:      owned("team-b", "label owner of the Ingress"),
		}, {
			name:      "in a shared namespace an object without a key belongs to the owner of the Namespace",
			namespace: marks{labels: map[string]string{"owner": "team-a", "eventuallytrue.dev/shared": "true"}},
			want:      owned("team-a", "label owner of the Namespace"),
		}, {
			name:      "a namespace is shared by the label value true alone",
			namespace: marks{labels: map[string]string{"owner": "team-a", "eventuallytrue.dev/shared": "True"}},
			object:    label("owner", "team-b"),
			want:      contradicted("label owner of the Namespace"),
		}, {
			name:      "a namespace is not shared by an annotation",
			namespace: marks{labels: map[string]string{"owner": "team-a"}, annotations: map[string]string{"eventuallytrue.dev/shared": "true"}},
			object:    label("owner", "team-b"),
			want:      contradicted("label owner of the Namespace"),
		}, {
			name:      "an object cannot share its namespace by a label of its own",
			namespace: label("owner", "team-a"),
			object:    marks{labels: map[string]string{"owner": "team-b", "eventuallytrue.dev/shared": "true"}},
			want:      contradicted("label owner of the Namespace"),
		}, {
			name:      "an object key that names the Namespace's owner as well contradicts nothing",
			namespace: label("owner", "team-a"),
			object:    annotation("team", "team-a"),
			want:      owned("team-a", "label owner of the Namespace"),
		}, {
			name:     "without any owner the namespace counts as its own owner and is notified",
			want:     rules.Owner{Namespace: "shop"},
			notified: "namespace shop",
		}, {
			name:     "without any owner the fallback is notified, but does not become the owner",
			config:   `owners: {fallback: platform}`,
			want:     rules.Owner{Namespace: "shop"},
			notified: "platform",
		}, {
			name:    "the registry knows a namespace by its name though the snapshot has no such Namespace",
			config:  registry,
			missing: true,
			want:    owned("team-a", `namespaces "sh*"`),
		}, {
			name:    "the config shares a namespace by its name though the snapshot has no such Namespace",
			config:  `owners: {sharedNamespaces: [shop]}`,
			missing: true,
			object:  label("owner", "team-b"),
			want:    owned("team-b", "label owner of the Ingress"),
		}, {
			name:     "in a namespace that the snapshot does not have an object without a key has no owner",
			missing:  true,
			want:     rules.Owner{Namespace: "shop"},
			notified: "namespace shop",
		},
	} {
		t.Run(c.name, c.run)
	}
}

// ownersOf returns the owners that a rule gets for some objects.
func ownersOf(t *testing.T, config string, facts snapshot.Facts, objects ...*snapshot.Meta) []rules.Owner {
	t.Helper()
	var got []rules.Owner
	probe := rule("probe", func(in rules.Input) (rules.Result, error) {
		for _, m := range objects {
			got = append(got, in.Owner(m))
		}
		return rules.Result{}, nil
	})
	audit.Evaluate(freeze(facts), []*rules.Rule{probe}, parse(t, config), now, nil)
	return got
}

func TestOwnerOfNamespaceIsThatOfWhatIsInIt(t *testing.T) {
	in := ingest.New([]string{"owner"})
	ns := in.Namespace(&corev1.Namespace{ObjectMeta: label("owner", "team-a").meta("", "shop")})
	bare := in.Namespace(&corev1.Namespace{ObjectMeta: marks{}.meta("", "bare")})
	got := ownersOf(t, "", snapshot.Facts{Namespaces: []snapshot.Namespace{ns, bare}},
		&ns.Meta, &bare.Meta, &snapshot.Meta{Kind: "Namespace", Name: "unread"})
	want := []rules.Owner{owned("team-a", "label owner of the Namespace"), {Namespace: "bare"}, {Namespace: "unread"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOwnerOfClusterWideObjectIsItsOwnKeyOnly(t *testing.T) {
	in := ingest.New([]string{"owner"})
	signed := in.IngressClass(&networkingv1.IngressClass{ObjectMeta: label("owner", "team-a").meta("", "nginx")})
	bare := in.IngressClass(&networkingv1.IngressClass{ObjectMeta: marks{}.meta("", "shop")})
	// The class has the name of a namespace of the registry, and is none.
	got := ownersOf(t, `owners: {teams: [{name: team-b, namespaces: [shop, nginx]}]}`, snapshot.Facts{}, &signed.Meta, &bare.Meta)
	want := []rules.Owner{{Name: "team-a", Source: "label owner of the IngressClass"}, {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOwnersUnknownInTwoNamespacesAreTwo(t *testing.T) {
	got := ownersOf(t, `owners: {fallback: platform}`, snapshot.Facts{},
		&snapshot.Meta{Kind: "Ingress", Namespace: "a", Name: "web"},
		&snapshot.Meta{Kind: "Ingress", Namespace: "b", Name: "web"},
		&snapshot.Meta{Kind: "Ingress", Namespace: "a", Name: "other"})
	if got[0].Is(got[1]) {
		t.Error("two namespaces without an owner count as one owner")
	}
	if !got[0].Is(got[2]) {
		t.Error("one namespace without an owner counts as two")
	}
}

// A tenant must not be able to hide a stolen host by signing it with the name of
// its victim.
func TestOwnerContradictionIsFoundAndReported(t *testing.T) {
	in := ingest.New([]string{"owner"})
	host := func(namespace string, m marks) snapshot.Ingress {
		return in.Ingress(&networkingv1.Ingress{
			ObjectMeta: m.meta(namespace, "web"),
			Spec:       networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: "shop.example.com"}}},
		})
	}
	facts := snapshot.Facts{
		Namespaces: []snapshot.Namespace{
			in.Namespace(&corev1.Namespace{ObjectMeta: label("owner", "team-a").meta("", "shop")}),
			in.Namespace(&corev1.Namespace{ObjectMeta: label("owner", "team-b").meta("", "thief")}),
		},
		Ingresses: []snapshot.Ingress{host("shop", marks{}), host("thief", label("owner", "team-a"))},
	}
	ev := audit.Evaluate(freeze(facts), []*rules.Rule{hosts.Rule()}, parse(t, ""), now, nil)
	if len(ev.Findings) != 1 {
		t.Fatalf("got %d findings, want the stolen host", len(ev.Findings))
	}
	if diff := cmp.Diff([]string{"team-a", "team-b"}, ev.Findings[0].Owners); diff != "" {
		t.Errorf("owners of the finding (-want +got):\n%s", diff)
	}
	var notified []rules.Subject
	for _, a := range ev.Advisories {
		notified = append(notified, a.Subject)
	}
	want := []rules.Subject{{Kind: "Ingress", Namespace: "thief", Name: "web"}}
	if diff := cmp.Diff(want, notified); diff != "" {
		t.Errorf("advisories (-want +got):\n%s", diff)
	}
}

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
		notified     audit.Destination
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
			"or the fallback takes its place", withFallback, "x",
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
			"and its own if it has no owner: the fallback is not needed", withFallback, "x", channel("team-x"),
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
			if diff := cmp.Diff(c.notified, audit.DestinationOf(got[0], cfg)); diff != "" {
				t.Errorf("notified (-want +got):\n%s", diff)
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
			"which slack.channelFrom does not allow: no messages are sent there",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("advisories (-want +got):\n%s", diff)
	}
}

package audit_test

import (
	"testing"

	"github.com/eventuallytrue/audit/rules"
)

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
			name:   "a label selector in the registry does not look at the labels of the object",
			config: `owners: {teams: [{name: team-a, namespaceSelector: {matchLabels: {tenant: "7"}}}]}`,
			object: label("tenant", "7"),
			want:   rules.Owner{Namespace: "shop"},
			told:   "namespace shop",
		}, {
			name:      "the registry is stronger than the owner key on the Namespace",
			config:    registry,
			namespace: label("owner", "team-c"),
			want:      owned("team-a", `namespaces "sh*"`),
		}, {
			name:   "the registry is stronger than the object's key, which is told as a contradiction",
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
			told:      "namespace shop",
		}, {
			name:      "a blank value says nothing, and blanks around a value do not count",
			namespace: marks{labels: map[string]string{"owner": ""}, annotations: map[string]string{"owner": " \t", "team": " team-a\n"}},
			want:      owned("team-a", "annotation team of the Namespace"),
		}, {
			name:   "the object's label counts where the Namespace names nobody",
			object: label("owner", "team-b"),
			want:   owned("team-b", "label owner of the Ingress"),
		}, {
			name:   "the object's annotation counts where the Namespace names nobody",
			object: annotation("team", "team-b"),
			want:   owned("team-b", "annotation team of the Ingress"),
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
			name: "without any owner the namespace counts as its own owner and is told",
			want: rules.Owner{Namespace: "shop"},
			told: "namespace shop",
		}, {
			name:   "without any owner the fallback is told, but does not become the owner",
			config: `owners: {fallback: platform}`,
			want:   rules.Owner{Namespace: "shop"},
			told:   "platform",
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
			name:    "in a namespace that the snapshot does not have an object without a key has no owner",
			missing: true,
			want:    rules.Owner{Namespace: "shop"},
			told:    "namespace shop",
		},
	} {
		t.Run(c.name, c.run)
	}
}

package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Owners says who owns what.
type Owners struct {
	// Keys are the keys under which an object names its owner, the most
	// trusted first; of each the label counts before the annotation.
	Keys []string `yaml:"keys"`
	// SharedNamespaces are namespaces in which an object's own key wins over
	// that of its Namespace.
	SharedNamespaces []Glob `yaml:"sharedNamespaces"`
	// Fallback is told of what has no owner. It need not be one of Teams.
	Fallback string `yaml:"fallback"`
	Teams    []Team `yaml:"teams"` // in the order of the file
}

// Team is an entry of the registry of owners.
type Team struct {
	Name string `yaml:"name"`
	// Namespaces and NamespaceSelector each claim Namespaces for the team. One
	// of them is enough; a team with neither is only named by owner keys.
	Namespaces        []Glob    `yaml:"namespaces"`
	NamespaceSelector Selector  `yaml:"namespaceSelector"`
	Slack             TeamSlack `yaml:"slack"`
	// QuietHours are when the team is sent nothing.
	QuietHours QuietHours `yaml:"quietHours"`
	// ReportOnly tells the team nothing: its findings are stored and counted.
	ReportOnly bool `yaml:"reportOnly"`
}

// TeamSlack says where in Slack a team is told. It comes from the config alone,
// never from an object, so that nobody can make the tool call somebody else.
type TeamSlack struct {
	// Channel is written to with the bot token. WebhookFile is the path of a file
	// that holds the URL of an incoming webhook, which needs no token and takes
	// no threads. One of them is empty, and a team that has none both.
	Channel     Channel `yaml:"channel"`
	WebhookFile string  `yaml:"webhookFile"`
	Mention     Mention `yaml:"mention"` // empty: nobody is called
}

// Told reports whether there is a place in Slack where the team can be told.
func (s TeamSlack) HasDestination() bool { return s.Channel != "" || s.WebhookFile != "" }

// Selector selects Namespaces by labels, which tenants cannot set on their own
// Namespace. The zero value selects none.
type Selector struct {
	MatchLabels map[string]string `yaml:"matchLabels"` // all of them must be there
}

// Matches reports whether the labels of a Namespace meet the selector.
func (s Selector) Matches(labels snapshot.Labels) bool {
	for key, want := range s.MatchLabels {
		if got, ok := labels.Get(key); !ok || got != want {
			return false
		}
	}
	return len(s.MatchLabels) > 0
}

// String returns the labels as kubectl's -l takes them, sorted by key.
func (s Selector) String() string {
	pairs := make([]string, 0, len(s.MatchLabels))
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		pairs = append(pairs, key+"="+s.MatchLabels[key])
	}
	return strings.Join(pairs, ",")
}

// Team returns the team of that name, or nil.
func (o *Owners) Team(name string) *Team {
	for i := range o.Teams {
		if o.Teams[i].Name == name {
			return &o.Teams[i]
		}
	}
	return nil
}

// ForNamespace returns the first team in the order of the file that claims a
// Namespace, and for people by what it does: `namespaces "shop-*"` or
// `namespaceSelector tenant=shop`. It returns nil where no team does.
func (o *Owners) ForNamespace(name string, labels snapshot.Labels) (team *Team, by string) {
	for i := range o.Teams {
		team := &o.Teams[i]
		if glob, ok := firstMatch(team.Namespaces, name); ok {
			return team, `namespaces "` + string(glob) + `"`
		}
		if team.NamespaceSelector.Matches(labels) {
			return team, "namespaceSelector " + team.NamespaceSelector.String()
		}
	}
	return nil, ""
}

// Shared reports whether the config lists a namespace as shared. A Namespace
// can be shared by its label as well, which the config does not know.
func (o *Owners) Shared(namespace string) bool { return matchAny(o.SharedNamespaces, namespace) }

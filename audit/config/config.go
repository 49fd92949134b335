// Package config is the policy that a sweep obeys: who owns what, how the rules
// are set, which violations are excepted and where findings are told.
//
// Read and Parse turn one YAML file into a Config that is known to be sound, or
// into every mistake of the file at once, each with its line and path. The
// package decides nothing about a cluster: it answers what the operator said
// about a namespace, a rule or a subject. How to run (connection, output,
// interval) is no policy and belongs to flags.
package config

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/eventuallytrue/audit/audit/hostsource"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Config is a sound config. The zero value is not: start from Default, Read or
// Parse.
type Config struct {
	// Cluster names the cluster in reports, messages and metrics. It may be
	// empty.
	Cluster string `yaml:"cluster"`
	Owners  Owners `yaml:"owners"`
	// Rules holds what the file says of a rule, by the rule's name. A rule that
	// the file leaves out is not in it: Settings knows the defaults.
	Rules      map[string]Rule `yaml:"rules"`
	Exceptions []Exception     `yaml:"exceptions"` // in the order of the file
	// HostSources are kinds whose objects claim hosts, beside the ready-made
	// ones: EnabledHostSources has both.
	HostSources []HostSource `yaml:"hostSources"`
	Findings    Findings     `yaml:"findings"`
	Limits      Limits       `yaml:"limits"`
	Slack       Slack        `yaml:"slack"`
	Webhook     Webhook      `yaml:"webhook"`
	// Events records what becomes of a finding as Events of Kubernetes on its
	// objects as well.
	Events      bool        `yaml:"events"`
	Pushgateway Pushgateway `yaml:"pushgateway"`
}

// Default returns the config of an empty file.
func Default() Config {
	return Config{
		Owners:   Owners{Keys: []string{"owner", "team", "app.kubernetes.io/owner", "a8r.io/owner"}},
		Findings: Findings{KeepResolved: Duration(30 * 24 * time.Hour)},
		Limits:   Limits{NewFindings: 500},
		Slack:    Slack{RemindAfter: Duration(24 * time.Hour)},

		Pushgateway: defaultPushgateway(),
	}
}

// Pushgateway says where metrics are pushed to, and how. What proves who pushes
// is read from files and never stands in the config.
type Pushgateway struct {
	URL URL `yaml:"url"` // empty: nowhere
	// Timeout is how long one push may take; 10 seconds by default.
	Timeout   Duration  `yaml:"timeout"`
	BasicAuth BasicAuth `yaml:"basicAuth"`
	// BearerTokenFile is the path of a file with a token, empty for none. It may
	// not stand beside BasicAuth.
	BearerTokenFile string `yaml:"bearerTokenFile"`
	// CAFile is the path of the certificates, in PEM, of those who may have
	// signed the server's; empty for those that the system trusts.
	CAFile string `yaml:"caFile"`
	// CertFile and KeyFile are the paths of a client certificate and its key, in
	// PEM. Both or neither are there.
	CertFile string `yaml:"certFile"`
	KeyFile  string `yaml:"keyFile"`
}

// BasicAuth names a user. The zero value is none.
type BasicAuth struct {
	Username     string `yaml:"username"`
	PasswordFile string `yaml:"passwordFile"`
}

func defaultPushgateway() Pushgateway { return Pushgateway{Timeout: Duration(10 * time.Second)} }

// Webhook says where digests are sent to for chat and ticket systems of any
// sort. The zero value is nowhere.
type Webhook struct {
	URL URL `yaml:"url"`
	// SecretFile is the path of the file that holds the key by which each
	// message is signed. It is there whenever URL is.
	SecretFile string `yaml:"secretFile"`
}

// Findings says how findings are kept.
type Findings struct {
	// KeepResolved is how long a resolved finding stays; 30 days by default.
	KeepResolved Duration `yaml:"keepResolved"`
}

// Limits bound what one sweep may do.
type Limits struct {
	// NewFindings is how many findings one sweep may open before it counts as a
	// storm, of which owners are told in one summary; 500 by default.
	NewFindings Count `yaml:"newFindings"`
}

// Settings returns what a rule is run with. Which defaults a rule has depends
// on the settings it takes, never on its name.
func (c *Config) Settings(r *rules.Rule) Settings {
	said := c.Rules[r.Name]
	s := Settings{Enabled: said.Enabled == nil || *said.Enabled, Severity: r.Severity, Hold: said.For, ReportOnly: said.ReportOnly}
	if said.Severity != 0 {
		s.Severity = rules.Severity(said.Severity)
	}
	if slices.Contains(r.Settings, rules.SettingDirections) {
		for _, d := range snapshot.Directions() {
			if said.Directions == nil || slices.Contains(said.Directions, Direction(d)) {
				s.Directions = append(s.Directions, d)
			}
		}
	}
	if slices.Contains(r.Settings, rules.SettingExemptNamespaces) {
		s.ExemptNamespaces = slices.Clone(said.ExemptNamespaces)
		if said.ExemptNamespaces == nil {
			s.ExemptNamespaces = []Glob{"kube-system", "kube-public", "kube-node-lease"}
		}
	}
	return s
}

// Expired returns the exceptions that hide nothing any more, in the order of
// the file. Each is an error, for a caller that refuses them.
func (c *Config) Expired(now time.Time) []*ExpiredError {
	var expired []*ExpiredError
	for i := range c.Exceptions {
		if e := &c.Exceptions[i]; e.Expires.Passed(now) {
			expired = append(expired, &ExpiredError{Exception: e})
		}
	}
	return expired
}

// EnabledHostSources returns the ready-made sources of hosts and those of the
// file, less those that the file switches off, sorted by kind.
func (c *Config) EnabledHostSources() []hostsource.Source {
	byKind := map[snapshot.Kind]hostsource.Source{}
	for _, s := range hostsource.BuiltIn() {
		byKind[s.Kind] = s
	}
	for i := range c.HostSources {
		h := &c.HostSources[i]
		if h.off() {
			delete(byKind, h.resourceKind())
			continue
		}
		byKind[h.resourceKind()] = h.override(byKind[h.resourceKind()])
	}
	var sources []hostsource.Source
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		sources = append(sources, byKind[kind])
	}
	return sources
}

// Channels reports whether owners are told in channels, which takes the bot token.
func (c *Config) UsesChannels() bool {
	return c.Slack.ChannelFrom.NamespaceAnnotation != "" ||
		slices.ContainsFunc(c.Owners.Teams, func(t Team) bool { return t.Slack.Channel != "" })
}

// Notes returns what of a sound config may not be what its writer had in mind,
// each in a line, sorted.
func (c *Config) Notes(now time.Time) []string {
	var notes []string
	for _, e := range c.Expired(now) {
		notes = append(notes, e.Error())
	}
	channels := c.UsesChannels()
	notified := channels
	for i := range c.Owners.Teams {
		notified = notified || c.Owners.Teams[i].Slack.HasDestination()
	}
	fallback := c.Owners.Team(c.Owners.Fallback)
	switch {
	case !notified || c.Webhook.URL != "":
	case c.Owners.Fallback == "":
		notes = append(notes, "owners.fallback: not set: no one is notified of findings without an owner")
	case fallback == nil || !fallback.Slack.HasDestination():
		notes = append(notes, fmt.Sprintf("owners.fallback: %s is not a team with a Slack channel or webhook: no one is notified of findings without an owner", shown(c.Owners.Fallback)))
	}
	if channels && c.Slack.TokenFile == "" {
		notes = append(notes, "slack.tokenFile: not set: the token must be in the environment variable AUDIT_SLACK_TOKEN")
	}
	slices.Sort(notes)
	return notes
}

// Package config reads the config file: who owns what, how rules are set, which
// violations are excepted, and how owners are notified.
//
// Read and Parse turn one YAML file into a valid Config, or report all mistakes in
// the file at once, each with its line and path. The package decides nothing about a
// cluster: it answers what the config says about a namespace, a rule or a subject.
// How to run (connection, output, interval) is set by flags.
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

// Config is a valid config. The zero value is not valid: start from Default, Read or
// Parse.
type Config struct {
	// Cluster names the cluster in reports, messages and metrics. It may be
	// empty.
	Cluster string `yaml:"cluster"`
	// Profile is the set of defaults for rules; Standard by default.
	Profile Profile `yaml:"profile"`
	Owners  Owners  `yaml:"owners"`
	// Rules holds what the file sets for a rule, by the rule's name. A rule that the
	// file does not mention is not in it: Settings knows the defaults.
	Rules      map[string]Rule `yaml:"rules"`
	Exceptions []Exception     `yaml:"exceptions"` // in the order of the file
	// HostSources are kinds whose objects claim hosts, in addition to the built-in
	// ones: EnabledHostSources returns both.
	HostSources []HostSource `yaml:"hostSources"`
	Hosts       Hosts        `yaml:"hosts"`
	Findings    Findings     `yaml:"findings"`
	Limits      Limits       `yaml:"limits"`
	Slack       Slack        `yaml:"slack"`
	Links       Links        `yaml:"links"`
	Webhook     Webhook      `yaml:"webhook"`
	// Events also records changes of findings as Kubernetes Events on their objects.
	Events      bool        `yaml:"events"`
	Pushgateway Pushgateway `yaml:"pushgateway"`
}

// Default returns the config of an empty file.
func Default() Config {
	return Config{
		Profile:  Standard,
		Owners:   Owners{Keys: []string{"owner", "team", "app.kubernetes.io/owner", "a8r.io/owner"}},
		Hosts:    Hosts{ExternalDNSPrefixes: externalDNSPrefixes()},
		Findings: Findings{KeepResolved: Duration(30 * 24 * time.Hour)},
		Limits:   defaultLimits(),
		Slack:    Slack{RemindAfter: Duration(24 * time.Hour)},

		Pushgateway: Pushgateway{Timeout: Duration(10 * time.Second)},
	}
}

// Findings says how findings are kept.
type Findings struct {
	// KeepResolved is how long a resolved finding stays; 30 days by default.
	KeepResolved Duration `yaml:"keepResolved"`
}

// Limits bound what one sweep may do.
type Limits struct {
	// NewFindings is how many findings that one namespace caused a sweep may open before
	// they count as a storm, of which owners get one summary; 500 by default.
	NewFindings Count `yaml:"newFindings"`
	// StoredFindings is how many findings that one namespace caused are stored one by one;
	// 1,000 by default.
	StoredFindings Count `yaml:"storedFindings"`

	// The rest bounds what is kept of one object, and of the objects of a namespace and
	// kind: see package budget. What passes a limit is not evaluated.
	HostsPerObject     Count `yaml:"hostsPerObject"`     // 2,000 by default
	HostsPerNamespace  Count `yaml:"hostsPerNamespace"`  // 20,000 by default
	TermsPerObject     Count `yaml:"termsPerObject"`     // 20,000 by default
	TermsPerNamespace  Count `yaml:"termsPerNamespace"`  // 100,000 by default
	LabelsPerObject    Count `yaml:"labelsPerObject"`    // 500 by default
	LabelsPerNamespace Count `yaml:"labelsPerNamespace"` // 100,000 by default
}

func defaultLimits() Limits {
	return Limits{
		NewFindings: 500, StoredFindings: 1000,
		HostsPerObject: 2_000, HostsPerNamespace: 20_000,
		TermsPerObject: 20_000, TermsPerNamespace: 100_000,
		LabelsPerObject: 500, LabelsPerNamespace: 100_000,
	}
}

// Webhook is where digests are sent for chat and ticket systems of any kind. The
// zero value is nowhere.
type Webhook struct {
	URL URL `yaml:"url"`
	// SecretFile is the path of the file with the key that signs messages. It is set
	// if URL is.
	SecretFile string `yaml:"secretFile"`
}

// Pushgateway is where and how metrics are pushed. Credentials are read from files
// and are never in the config.
type Pushgateway struct {
	URL URL `yaml:"url"` // empty: nowhere
	// Timeout limits one push; 10 seconds by default.
	Timeout   Duration  `yaml:"timeout"`
	BasicAuth BasicAuth `yaml:"basicAuth"`
	// BearerTokenFile is the path of a file with a token, or empty. It conflicts
	// with BasicAuth.
	BearerTokenFile string `yaml:"bearerTokenFile"`
	// CAFile is the path of the CA certificates to trust, in PEM; empty for those
	// that the system trusts.
	CAFile string `yaml:"caFile"`
	// CertFile and KeyFile are the paths of a client certificate and its key, in
	// PEM. Either both are set or neither.
	CertFile string `yaml:"certFile"`
	KeyFile  string `yaml:"keyFile"`
}

// BasicAuth names a user. The zero value is none.
type BasicAuth struct {
	Username     string `yaml:"username"`
	PasswordFile string `yaml:"passwordFile"`
}

// Settings returns the settings of a rule. Its defaults depend on the settings that
// the rule accepts, never on its name.
func (c *Config) Settings(r *rules.Rule) Settings {
	s := Settings{Enabled: true, Severity: r.Severity}
	if slices.Contains(r.Settings, rules.SettingDirections) {
		all := snapshot.Directions()
		s.Directions = all[:]
	}
	if slices.Contains(r.Settings, rules.SettingExemptNamespaces) {
		s.ExemptNamespaces = []Glob{"kube-system", "kube-public", "kube-node-lease"}
	}
	c.Profile.defaults(r, &s)

	said := c.Rules[r.Name]
	s.Hold = said.For
	if said.Enabled != nil {
		s.Enabled = *said.Enabled
	}
	s.ReportOnly = c.ReportOnly(r.Name)
	if said.Severity != 0 {
		s.Severity = rules.Severity(said.Severity)
	}
	if said.Directions != nil {
		all := snapshot.Directions()
		s.Directions = slices.DeleteFunc(all[:], func(d snapshot.Direction) bool {
			return !slices.Contains(said.Directions, Direction(d))
		})
	}
	if said.ExemptNamespaces != nil {
		s.ExemptNamespaces = slices.Clone(said.ExemptNamespaces)
	}
	return s
}

// EnabledHostSources returns the built-in host sources and those of the file,
// without those that the file disables, sorted by kind. Those of external-dns are
// among them if the file mentions them.
func (c *Config) EnabledHostSources() []hostsource.Source {
	return slices.DeleteFunc(c.KnownHostSources(), func(s hostsource.Source) bool { return s.Unread })
}

// KnownHostSources returns the enabled host sources, and those that are off because the
// file does not mention them, and whose objects are counted.
func (c *Config) KnownHostSources() []hostsource.Source {
	byKind, optional := map[snapshot.Kind]hostsource.Source{}, map[snapshot.Kind]hostsource.Source{}
	for _, s := range hostsource.BuiltIn() {
		byKind[s.Kind] = s
	}
	for _, s := range hostsource.Unread() {
		byKind[s.Kind] = s
	}
	for _, s := range hostsource.ExternalDNS(c.Hosts.Prefixes()) {
		optional[s.Kind] = s
	}
	for i := range c.HostSources {
		h := &c.HostSources[i]
		kind := h.resourceKind()
		if h.off() {
			delete(byKind, kind)
			continue
		}
		base, ok := byKind[kind]
		if !ok {
			base = optional[kind]
		}
		byKind[kind] = h.override(base)
	}
	var sources []hostsource.Source
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		sources = append(sources, byKind[kind])
	}
	return sources
}

// UsesChannels reports whether owners are notified in channels, which needs the bot
// token.
func (c *Config) UsesChannels() bool {
	return c.Slack.ChannelFrom.NamespaceAnnotation != "" ||
		slices.ContainsFunc(c.Owners.Teams, func(t Team) bool { return t.Slack.Channel != "" })
}

// NeedsBot reports whether an owner is to be notified in a channel of findings of any of
// the rules, which is impossible without the bot token.
func (c *Config) NeedsBot(set []*rules.Rule) bool {
	notified := slices.ContainsFunc(set, func(r *rules.Rule) bool {
		s := c.Settings(r)
		return s.Enabled && !s.ReportOnly
	})
	return notified && (c.Slack.ChannelFrom.NamespaceAnnotation != "" || slices.ContainsFunc(c.Owners.Teams, func(t Team) bool {
		return t.Slack.Channel != "" && t.Slack.WebhookFile == "" && !t.ReportOnly
	}))
}

// Expired returns the exceptions that have expired, in the order of the file. Each
// is an error, for a caller that rejects them.
func (c *Config) Expired(now time.Time) []*ExpiredError {
	var expired []*ExpiredError
	for i := range c.Exceptions {
		if e := &c.Exceptions[i]; e.Expires.Passed(now) {
			expired = append(expired, &ExpiredError{Exception: e})
		}
	}
	return expired
}

// Notes returns what may not be intended in a valid config, a line each, sorted.
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

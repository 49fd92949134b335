// Package config is the policy that a sweep obeys: who owns what, how the rules
// are set, which violations are excepted and where findings are told.
//
// Read and Parse turn one YAML file into a Config that is known to be sound, or
// into every mistake of the file at once, each with its line and path. The
// package decides nothing about a cluster: it answers what the operator said
// about a namespace, a rule or a subject. How to run (connection, output,
// interval) is no policy and belongs to flags.
package config

import "time"

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

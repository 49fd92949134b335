package main

import (
	"slices"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/notify/metrics"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// newPusher returns the pusher to the Pushgateway of the config, nil if it has none.
func newPusher(c *config.Config) (*metrics.Pusher, error) {
	p := &c.Pushgateway
	if p.URL == "" {
		return nil, nil
	}
	return metrics.NewPusher(metrics.Options{
		URL: string(p.URL), Timeout: time.Duration(p.Timeout),
		Username: p.BasicAuth.Username, PasswordFile: p.BasicAuth.PasswordFile, BearerTokenFile: p.BearerTokenFile,
		CAFile: p.CAFile, CertFile: p.CertFile, KeyFile: p.KeyFile,
	}, c.Cluster, labelValues(c))
}

// labelValues returns the values that labels of metrics may have: those of the program
// and of the config, never those of the cluster.
func labelValues(c *config.Config) metrics.LabelValues {
	v := metrics.LabelValues{Version: version()}
	for _, r := range catalog.All() {
		v.Rules = append(v.Rules, r.Name)
	}
	if c.Owners.Fallback != "" {
		v.Owners = append(v.Owners, c.Owners.Fallback)
	}
	for _, t := range c.Owners.Teams {
		v.Owners = append(v.Owners, t.Name)
	}
	v.Kinds = slices.DeleteFunc(audit.Needs(catalog.All()), func(k snapshot.Kind) bool { return k == snapshot.HostSources })
	for _, s := range c.EnabledHostSources() {
		if !slices.Contains(v.Kinds, s.Kind) {
			v.Kinds = append(v.Kinds, s.Kind)
		}
	}
	return v
}

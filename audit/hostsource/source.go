// Package hostsource reads the hosts that objects claim by expressions in CEL:
// for kinds that nothing else here knows, each cluster its own, and so by the
// config. ReadyMade has the kinds that need no config.
//
// A Source says of one kind how that is done. It knows nothing of API servers
// and manifests, and nothing of owners: what it yields becomes a fact in package
// ingest, and rules judge that.
package hostsource

import (
	"context"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Source is a kind whose objects claim hosts, and how to read them.
type Source struct {
	Kind snapshot.Kind
	// Object is the kind as its objects spell it, such as "VirtualService".
	Object string
	// Versions are those that the expression is for, the most preferred first.
	// A cluster serves the same objects in each of them, so one is read.
	Versions []string
	Hosts    Expression
	// Deep is true where a wildcard covers any number of labels and not just
	// one.
	Deep bool
	// ReadyMade is true of a source that nobody asked for: that a cluster does
	// not serve the kind is not worth a word then.
	BuiltIn bool
	// Fields are the fields that say what an object claims, such as
	// "spec.hosts", so that its history tells since when at the latest.
	// "metadata.name" never changes. Where none is named it may be any.
	Fields []string
}

// Claims are what an object claims.
type Claims struct {
	Hosts []snapshot.HostPattern // sorted, each once, none empty
	// Odd are the first few things in place of a host that are none, sorted.
	Invalid []string
}

// Read returns what an object claims, given as JSON is decoded. It fails where
// the expression does, and with the cause of the context where that ended.
func (s *Source) Read(ctx context.Context, object map[string]any) (Claims, error) {
	values, err := s.Hosts.Eval(ctx, object)
	if err != nil {
		return Claims{}, err
	}
	return s.claims(values), nil
}

// Package catalog lists the built-in rules.
package catalog

import (
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/evaluable"
	"github.com/eventuallytrue/audit/rules/hosts"
	"github.com/eventuallytrue/audit/rules/isolation"
	"github.com/eventuallytrue/audit/rules/ownership"
	"github.com/eventuallytrue/audit/rules/replication"
)

// All returns every rule, sorted by name.
func All() []*rules.Rule {
	return []*rules.Rule{
		isolation.Rule(),
		replication.Rule(),
		evaluable.Rule(),
		hosts.Rule(),
		ownership.Rule(),
	}
}

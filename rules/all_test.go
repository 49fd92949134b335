package rules_test

import (
	"testing"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/rulestest"
)

func TestEveryRuleHasFixtures(t *testing.T) { rulestest.Catalogue(t, rules.All()) }

package rules_test

import (
	"testing"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/rulestest"
)

func TestOwnerKnown(t *testing.T) { rulestest.Run(t, rules.OwnerKnown()) }

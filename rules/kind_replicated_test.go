package rules_test

import (
	"testing"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/rulestest"
)

func TestKindReplicated(t *testing.T) { rulestest.Run(t, rules.KindReplicated()) }

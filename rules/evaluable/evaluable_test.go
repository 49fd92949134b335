package evaluable_test

import (
	"testing"

	"github.com/eventuallytrue/audit/rules/evaluable"
	"github.com/eventuallytrue/audit/rules/rulestest"
)

func TestRule(t *testing.T) { rulestest.Run(t, evaluable.Rule()) }

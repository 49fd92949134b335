package ownership_test

import (
	"testing"

	"github.com/eventuallytrue/audit/rules/ownership"
	"github.com/eventuallytrue/audit/rules/rulestest"
)

func TestFixtures(t *testing.T) { rulestest.Run(t, ownership.Rule()) }

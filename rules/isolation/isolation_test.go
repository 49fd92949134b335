package isolation_test

import (
	"testing"

	"github.com/eventuallytrue/audit/rules/isolation"
	"github.com/eventuallytrue/audit/rules/rulestest"
)

func TestFixtures(t *testing.T) { rulestest.Run(t, isolation.Rule()) }

package replication_test

import (
	"testing"

	"github.com/eventuallytrue/audit/rules/replication"
	"github.com/eventuallytrue/audit/rules/rulestest"
)

func TestFixtures(t *testing.T) { rulestest.Run(t, replication.Rule()) }

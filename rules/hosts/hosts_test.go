package hosts_test

import (
	"testing"

	"github.com/eventuallytrue/audit/rules/hosts"
	"github.com/eventuallytrue/audit/rules/rulestest"
)

func TestFixtures(t *testing.T) { rulestest.Run(t, hosts.Rule()) }

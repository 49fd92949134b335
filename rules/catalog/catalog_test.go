package catalog_test

import (
	"testing"

	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/rulestest"
)

func TestEveryRuleHasFixtures(t *testing.T) { rulestest.Catalog(t, catalog.All()) }

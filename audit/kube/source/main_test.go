package source_test

import (
	"os"
	"testing"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

var control = &kubetest.Shared{}

func TestMain(m *testing.M) { os.Exit(control.Main(m)) }

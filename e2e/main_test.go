package e2e

import (
	"os"
	"testing"

	"github.com/eventuallytrue/audit/e2e/node"
)

var shared = &node.Shared{}

func TestMain(m *testing.M) {
	if os.Getenv(probed) != "" {
		os.Exit(beProbe(os.Stdout))
	}
	os.Exit(shared.Main(m))
}

// TestInstalled tells the story of an installation from the first attempt to the
// end. Each step begins where the one before left the cluster.
func TestInstalled(t *testing.T) {
	w := newWorld(t)
	w.LogOnFailure(t, home)
	for _, step := range []struct {
		says string
		does func(*testing.T, *world)
	}{
		{"a wrong value is refused", refusesWrongValues},
		{"a wrong config fails once", failsOnceOnWrongConfig},
		{"the CronJob's pod finds what is wrong", sweepsOnSchedule},
		{"the next run resolves what is mended", resolvesWhatIsMended},
		{"an upgrade keeps findings", upgradeKeepsFindings},
		{"publishers beside each other lose nothing", overlapLosesNothing},
		{"a deployment has one leader", deploymentHasOneLeader},
		{"the pod may do nothing else", podMayDoNothingElse},
		{"a leader that dies in a sweep is replaced", diesInASweep},
		{"many Ingresses fit", manyIngressesFit},
		{"uninstalling leaves findings", uninstallLeavesFindings},
	} {
		if !t.Run(step.says, func(t *testing.T) { step.does(t, w) }) {
			return
		}
	}
}

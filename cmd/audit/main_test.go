package main

import (
	"crypto/x509"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// control is the API server of the live tests.
var control = &kubetest.Shared{}

func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){"audit": scripted})
}

// suite runs the tests and then stops the API server, if one was started.
type suite struct{ m *testing.M }

func (s suite) Run() int { return control.Main(s.m) }

// today is the day on which the tests run the program, if its output has
// times. It is a little later than the newest object of the estate.
var today = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)

// scriptClock is the variable that gives a script's program another clock than
// that of the machine.
const scriptClock = "AUDIT_TEST_NOW"

// scripted is the program as scripts run it: main itself, except for its clock.
func scripted() {
	text := os.Getenv(scriptClock)
	if text == "" {
		main()
		return
	}
	now, err := time.Parse(time.RFC3339, text)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitSignal)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(command{
		args: os.Args[1:], in: os.Stdin, out: os.Stdout, err: os.Stderr,
		getenv: os.Getenv, now: func() time.Time { return now }, signals: signals,
	}))
}

// rootless says that this process runs where there are no certificates.
const rootless = "AUDIT_TEST_ROOTLESS"

// TestRootsAreInTheBinary: in the image there is no folder of certificates, and
// Slack must be trusted nevertheless. Roots are loaded once per
// process, so the test is a process of its own.
func TestRootsAreInTheBinary(t *testing.T) {
	if os.Getenv(rootless) != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			t.Fatal(err)
		}
		if pool.Equal(x509.NewCertPool()) {
			t.Error("without the system's certificates there are none")
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestRootsAreInTheBinary$", "-test.v")
	cmd.Env = append(os.Environ(), rootless+"=1", "SSL_CERT_DIR="+empty, "SSL_CERT_FILE="+filepath.Join(empty, "none"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// initialized matches what Go logs about the initialization of a package.
var initialized = regexp.MustCompile(`(?m)^init (\S+) .* (\d+) bytes, \d+ allocs$`)

// What packages allocate before main begins stays in memory, and every run of a CronJob
// takes the time again. A single regular expression once took more than all the rest.
func TestStartIsCheap(t *testing.T) {
	const most, mostInAll = 1 << 20, 5 << 20 // bytes
	cmd := exec.Command(buildAudit(t), "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	all := 0
	for _, m := range initialized.FindAllSubmatch(out, -1) {
		n, err := strconv.Atoi(string(m[2]))
		if err != nil {
			t.Fatal(err)
		}
		all += n
		if n > most {
			t.Errorf("package %s allocates %d bytes when it is initialized", m[1], n)
		}
	}
	if all == 0 || all > mostInAll {
		t.Errorf("packages allocate %d bytes when they are initialized", all)
	}
}

// TestTimeZonesAreInTheBinary: where a test runs the system has a database of time zones,
// and in the image there is none.
func TestTimeZonesAreInTheBinary(t *testing.T) {
	for _, p := range listPackages(t) {
		if p.name() == "cmd/audit" && !slices.Contains(p.Deps, "time/tzdata") {
			t.Error("the command does not link time/tzdata: quiet hours have no time zones in an image from scratch")
		}
	}
}

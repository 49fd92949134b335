package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// initialized is what Go says of what a package made before main began.
var initialized = regexp.MustCompile(`(?m)^init (\S+) .* (\d+) bytes, \d+ allocs$`)

// A start costs little: what packages make before main begins stays in memory for
// good, and every run of a CronJob takes the time again. One regular expression once
// took more than all else together.
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

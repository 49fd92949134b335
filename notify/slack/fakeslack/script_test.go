package fakeslack

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// conversation is what a script decides for a few requests of two acts.
func conversation(s *Script) []Fault {
	var out []Fault
	for act := range 2 {
		s.Begin(act)
		for range 3 {
			out = append(out, s.Decide(Request{Method: postMessage, Channel: "C0A"}), s.Decide(Request{Method: postMessage, Channel: "C0A", Thread: "1.2"}))
		}
	}
	return out
}

func TestScriptIsReadAsItIsWritten(t *testing.T) {
	script := NewScript(Seeded(7, func(act int) float64 { return 0.5 * float64(act) }))
	first := conversation(script)
	if script.String() == "" || len(script.Done()) == len(first) {
		t.Fatalf("%d faults came about in %d requests", len(script.Done()), len(first))
	}
	if cmp.Diff(make([]Fault, 6), first[:6]) != "" {
		t.Error("there are faults without any chance")
	}
	pick, err := ParseScript(script.String())
	if err != nil {
		t.Fatal(err)
	}
	again := NewScript(pick)
	if diff := cmp.Diff(first, conversation(again)); diff != "" {
		t.Errorf("played again (-first +again):\n%s", diff)
	}
	if diff := cmp.Diff(script.String(), again.String()); diff != "" {
		t.Errorf("written again (-first +again):\n%s", diff)
	}
}

func TestScriptNamesRequests(t *testing.T) {
	pick, err := ParseScript(`1 chat.postMessage C0A reply #2: {"status":429,"retryAfter":1000000000}` + "\n")
	if err != nil {
		t.Fatal(err)
	}
	want := make([]Fault, 12)
	want[9] = Fault{Status: http.StatusTooManyRequests, RetryAfter: time.Second}
	if diff := cmp.Diff(want, conversation(NewScript(pick))); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	for _, text := range []string{"chat.postMessage", "1 chat.postMessage C0A #1: burn"} {
		if _, err := ParseScript(text); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

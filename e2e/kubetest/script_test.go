package kubetest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseFaultReadsWhatStringWrites(t *testing.T) {
	for _, kind := range faultKinds {
		f := Fault{Kind: kind}
		if slices.Contains(withN, kind) {
			f.N = 17
		}
		if got, err := ParseFault(f.String()); err != nil || got != f {
			t.Errorf("%q is parsed as %v: %v", f, got, err)
		}
	}
	for _, text := range []string{"", "refuse", "refuse x", "drop 3", "burn", "cut 1 "} {
		if f, err := ParseFault(text); err == nil {
			t.Errorf("%q is parsed as %v", text, f)
		}
	}
}

// numbered answers with a list whose version is the number of the response.
type numbered struct{ seen atomic.Int64 }

func (s *numbered) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := s.seen.Add(1)
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"metadata":{"resourceVersion":"%d"},"items":[%q,"b","c","d","e","f"]}`, n, r.Header.Get("Accept"))
}

// play requests a list and a later page of it, twice, from a server with a script. It
// returns the responses and the number of requests that reached the server.
func play(t *testing.T, script *Script) (answers []string, reached int) {
	t.Helper()
	var behind numbered
	server := httptest.NewServer(Disturb(&behind, script.Decide))
	defer server.Close()
	for act := 1; act <= 2; act++ {
		script.Begin(act)
		for _, query := range []string{"?limit=2", "?limit=2&continue=x"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1/pods"+query, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Accept", "text/plain")
			answers = append(answers, ask(r))
		}
	}
	return answers, int(behind.seen.Load())
}

func ask(r *http.Request) string {
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return "no answer"
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return "broken off"
	}
	return fmt.Sprint(res.StatusCode, " ", string(body))
}

func TestFaults(t *testing.T) {
	list := func(version int) string {
		return fmt.Sprintf(`200 {"metadata":{"resourceVersion":"%d"},"items":["text/plain","b","c","d","e","f"]}`, version)
	}
	const first, later = "2 GET /api/v1/pods #1", "2 GET /api/v1/pods later #1"
	for _, c := range []struct {
		name, script string
		third, last  string // the responses in the second act
		reached      int    // number of requests that reached the server
	}{
		{"no fault", "", list(3), list(4), 4},
		{"a gateway answers", later + ": block 502", list(3), "502 <html>Bad Gateway</html>\n", 3},
		{"the request is dropped", first + ": drop", "no answer", list(3), 3},
		{"the response is lost", first + ": lose", "no answer", list(4), 4},
		{"the connection breaks", first + ": cut 10", "broken off", list(4), 4},
		{"the body is truncated", first + ": truncate 76", `200 {"m`, list(4), 4},
		{"a truncated body is not empty", first + ": truncate 500", "200 {", list(4), 4},
		{"the response is late", first + ": delay 1", list(3), list(4), 4},
		{
			"the list is shuffled", first + ": shuffle 1",
			`200 {"items":["b","f","e","c","application/json","d"],"metadata":{"resourceVersion":"3"}}`, list(4), 4,
		},
		{"the response is stale", first + ": stale 0", list(1), list(3), 3},
		{"fewer earlier responses than asked for", first + ": stale 7", list(1), list(3), 3},
		{"a page is repeated", later + ": repeat", list(3), list(3), 3},
		{"no page before the first", first + ": repeat", list(3), list(4), 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			pick, err := ParseScript(c.script)
			if err != nil {
				t.Fatal(err)
			}
			script := NewScript(pick, func(*http.Request) bool { return true })
			answers, reached := play(t, script)
			if diff := cmp.Diff([]string{list(1), list(2), c.third, c.last}, answers); diff != "" || reached != c.reached {
				t.Errorf("%d reached the server, want %d; answers (-want +got):\n%s", reached, c.reached, diff)
			}
			want := c.script + "\n"
			if c.script == "" || strings.HasPrefix(c.name, "no page") {
				want = ""
			}
			if got := script.String(); got != want {
				t.Errorf("got script %q", got)
			}
		})
	}
}

func TestStaleNeedsPermission(t *testing.T) {
	pick, err := ParseScript("2 GET /api/v1/pods #1: stale 0\n2 GET /api/v1/pods later #1: repeat\n")
	if err != nil {
		t.Fatal(err)
	}
	script := NewScript(pick, func(*http.Request) bool { return false })
	if _, reached := play(t, script); reached != 4 || script.String() != "" {
		t.Errorf("%d reached the server; %s", reached, script)
	}
}

func TestSeedsDetermineFaults(t *testing.T) {
	odds := func(act int) Odds { return Odds{Once: 0.3, Always: 0.1} }
	steps := func() (all []Step) {
		for n := range 400 {
			all = append(all, Step{Act: n % 3, Request: fmt.Sprintf("GET /api/v1/pods%d later", n%7), N: n / 21, MayBeStale: true})
		}
		return all
	}
	faults := func(seed uint64, all []Step) map[string]string {
		pick, out := Seeded(seed, odds), map[string]string{}
		for _, s := range all {
			if f := pick(s); f != (Fault{}) {
				out[s.String()] = f.String()
			}
		}
		return out
	}
	one, other := steps(), steps()
	slices.Reverse(other)
	if diff := cmp.Diff(faults(1, one), faults(1, other)); diff != "" {
		t.Errorf("faults depend on the order:\n%s", diff)
	}
	if n := len(faults(1, one)); n < 80 || n > 240 {
		t.Errorf("%d faults of %d steps", n, len(one))
	}
	if cmp.Equal(faults(1, one), faults(2, one)) {
		t.Error("another seed gives the same faults")
	}
	if none := Seeded(1, func(int) Odds { return Odds{} }); slices.ContainsFunc(one, func(s Step) bool { return none(s) != Fault{} }) {
		t.Error("faults with zero odds")
	}
}

func TestParseScriptRejects(t *testing.T) {
	for _, text := range []string{"GET /api", "1 GET /api #1: burn\n", "\n"} {
		if _, err := ParseScript(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

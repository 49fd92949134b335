package webhook_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/notify/webhook"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestGoldenDigests(t *testing.T) {
	all := digests()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			to := &receiver{}
			s := newSender(t, "https://tickets.example.com", direct{to})
			plan := s.Plan(all[name])
			if err := send(t.Context(), s, all[name]); err != nil {
				t.Fatal(err)
			}
			if len(plan) != 1 || len(to.bodies) != 1 {
				t.Fatalf("%d messages, %d arrived", len(plan), len(to.bodies))
			}
			path := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(path, []byte(plan[0].Text+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), plan[0].Text+"\n"); diff != "" {
				t.Errorf("(-golden +got)\n%s", diff)
			}
			var line bytes.Buffer
			if err := json.Compact(&line, want); err != nil {
				t.Fatal(err)
			}
			if to.bodies[0] != line.String() {
				t.Errorf("what is sent is not what is shown:\n%s", to.bodies[0])
			}
			for _, r := range to.bodies[0] {
				if !unicode.IsPrint(r) {
					t.Errorf("%U is sent as it is", r)
				}
			}
		})
	}
}

// The signature depends on time, secret and body alone: whoever writes a receiver
// can hold theirs against this one.
func TestSignatureOfAKnownBody(t *testing.T) {
	to := &receiver{}
	s := frozen(t, direct{to})
	if err := send(t.Context(), s, digests()["opened"]); err == nil {
		t.Fatal("what was signed in September was taken")
	}
	want := http.Header{
		"Content-Type":      {"application/json"},
		"User-Agent":        {"audit/v1.2.3"},
		"Idempotency-Key":   {knownKey},
		"X-Audit-Signature": {knownSignature},
	}
	if diff := cmp.Diff(want, to.seen[0]); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

const (
	knownKey       = `"bf272625e1c117e90701f02cd85cb2233ad3c7d7585ee39cb82cadffaf93f519"`
	knownSignature = "t=1790676300,v1=ae681efb4bd26d23915c6bdd564f9084f570c2e8a013092cfd5bc106768a4842"
)

// frozen returns a sender whose clock stands still.
func frozen(t *testing.T, transport http.RoundTripper) *webhook.Sender {
	t.Helper()
	s, err := webhook.New(webhook.Options{
		URL: "https://tickets.example.com", Secret: secret, Version: "v1.2.3", Transport: transport,
		Clock: func() time.Time { return swept },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

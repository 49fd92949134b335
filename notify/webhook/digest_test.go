package webhook_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/notify/webhook"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

var swept = time.Date(2026, 9, 29, 10, 5, 0, 0, time.UTC)

// stolen is a finding about a host of two owners.
func stolen() audit.Record {
	return audit.Record{
		Finding: audit.Finding{
			ID: "one-owner-per-host-1f0c9a7be2", Rule: "one-owner-per-host", Severity: rules.High,
			Subject: rules.Subject{Kind: rules.SubjectHost, Name: "shop.example.com"}, Verdict: "contested",
			Culprit: "growth",
			Owners:  []string{"checkout", "growth"}, State: audit.StateOpen, FirstSeen: swept.Add(-20 * time.Minute),
			Message: "2 owners claim shop.example.com.",
			Cause:   "The second claim came 3 s after the first: the gate at admission could not know of it.",
			Remedy:  "Agree on who serves it, and take the host out of the other Ingress.",
			Objects: []rules.Object{
				{Ref: snapshot.Ref{Group: "networking.k8s.io", Kind: "Ingress", Namespace: "checkout", Name: "shop"}, Owner: "checkout", Created: swept.Add(-30 * 24 * time.Hour), Reason: "claims", Detail: "host of a rule, class nginx"},
				{Ref: snapshot.Ref{Kind: "Service", Namespace: "growth", Name: "promo"}, Created: swept.Add(-time.Hour)},
			},
			MoreObjects: 3,
		},
		Reason: audit.ReasonOpened, OpenedAt: swept.Add(-10 * time.Minute), Reopened: 1, Storm: true,
	}
}

// missing is a finding about a namespace.
func missing() audit.Record {
	return audit.Record{
		Finding: audit.Finding{
			ID: "default-deny-present-77aa01cd42", Rule: "default-deny-present", Severity: rules.Medium,
			Subject: rules.Subject{Kind: rules.SubjectNamespace, Namespace: "checkout", Name: "checkout", Detail: "Egress"},
			Owners:  []string{"checkout"}, State: audit.StateResolved, FirstSeen: swept.Add(-75 * time.Hour),
			Message: "No policy denies egress of checkout by default.",
		},
		Reason: audit.ReasonResolved, OpenedAt: swept.Add(-75 * time.Hour), ResolvedAt: swept,
	}
}

// hostile is a finding whose texts are all malicious.
func hostile() audit.Record {
	const evil = "<!channel> <https://x|y> *b* `c`\n\r\x1b[2J\u202e\u200b\x00\xff\"}]\\ </script>"
	r := stolen()
	r.ID, r.Verdict, r.Message, r.Cause, r.Remedy = "one-owner-per-host-00ee", evil, evil, evil, evil
	r.Subject.Name, r.Owners = evil+strings.Repeat("n", 253), []string{evil}
	r.Objects = []rules.Object{{Ref: snapshot.Ref{Group: evil, Kind: evil, Namespace: evil, Name: evil}, Owner: evil, Reason: evil, Detail: evil}}
	return r
}

func item(event audit.Event, r audit.Record, owners ...string) notify.Item {
	return notify.Item{Record: r, Event: event, Owners: owners}
}

func digest(items ...notify.Item) notify.Digest {
	return notify.Digest{
		Cluster: "prod-eu-1", To: notify.Recipient{Owner: "checkout"}, Items: items, Open: 4, Now: swept,
	}
}

// repeated is an item of a finding that its owner was notified of before.
func repeated(it notify.Item, last audit.Event, at time.Time) notify.Item {
	it.Last, it.NotifiedAt = last, at
	return it
}

// digests returns one of each kind, by the name of its golden file.
func digests() map[string]notify.Digest {
	yesterday := swept.Add(-24*time.Hour + 123*time.Millisecond)
	fallback := digest(item(audit.EventOpened, stolen(), "stray", "nobody"))
	fallback.To.Owner, fallback.FallbackReason = "platform", "nobody: channel_not_found"
	unnamed := digest(item(audit.EventOpened, hostile(), "checkout"))
	unnamed.Cluster = ""
	return map[string]notify.Digest{
		"opened": digest(item(audit.EventOpened, stolen(), "checkout")),
		"mixed": digest(
			repeated(item(audit.EventChanged, stolen(), "checkout"), audit.EventOpened, yesterday),
			repeated(item(audit.EventResolved, missing(), "checkout"), audit.EventOpened, yesterday)),
		"reopened": digest(repeated(item(audit.EventReopened, stolen(), "checkout"), audit.EventResolved, yesterday)),
		"released": digest(repeated(item(audit.EventReleased, stolen(), "checkout"), audit.EventChanged, yesterday)),
		"reminder": digest(repeated(item(audit.EventReminder, stolen(), "checkout"), audit.EventOpened, yesterday)),
		"details":  digest(repeated(item(audit.EventDetails, stolen(), "checkout"), audit.EventOpened, yesterday)),
		"fallback": fallback,
		"hostile":  unnamed,
	}
}

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
				t.Errorf("the message differs from its preview:\n%s", to.bodies[0])
			}
			for _, r := range to.bodies[0] {
				if !unicode.IsPrint(r) {
					t.Errorf("%U is not escaped", r)
				}
			}
		})
	}
}

// The signature depends only on time, secret and body: people who write a receiver can
// compare theirs with this one.
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
	knownKey       = `"d68116bdf60f810ed11c80516ea49ec9465bb2e679b309d520c140595eee1a43"`
	knownSignature = "t=1790676300,v1=fce06996c3cc2d98c6c2f466170d1b5a5d01f03bd49c6075c76a82403ff8c292"
)

// frozen returns a sender whose clock does not advance.
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

var place audit.MessageRef

// many returns a digest of n items, with more additional bytes in each.
func many(n, more int) notify.Digest {
	var items []notify.Item
	for i := range n {
		r := stolen()
		r.ID = fmt.Sprintf("one-owner-per-host-%d", i)
		r.Message = strings.Repeat("\x1b", more/6)
		items = append(items, item(audit.EventOpened, r, "checkout"))
	}
	return digest(items...)
}

func TestLongDigestsAreSplit(t *testing.T) {
	for _, row := range []struct {
		name    string
		d       notify.Digest
		items   []int // of each message
		longest int
	}{
		{"no items", many(0, 0), nil, 0},
		{"500 items", many(500, 0), []int{500}, 1_000_000},
		{"501 items", many(501, 0), []int{500, 1}, 1_000_000},
		{"long items, up to a megabyte", many(4, 300_000), []int{3, 1}, 1_000_000},
		{"items longer than a megabyte", many(2, 1_200_000), []int{1, 1}, 1_300_000},
	} {
		t.Run(row.name, func(t *testing.T) {
			to := &receiver{}
			s := newSender(t, "https://tickets.example.com", direct{to})
			var covered, sent []string
			var sizes []int
			for i, m := range s.Plan(row.d) {
				if m.Parent != notify.NoParent || m.Thread != place || m.StartsThread || m.Optional {
					t.Errorf("message %d is a reply: %+v", i, m)
				}
				for _, c := range m.Covers {
					if c.Next != "" {
						t.Errorf("%s is followed by %s", c.Event, c.Next)
					}
					covered = append(covered, c.ID+" "+string(c.Event))
				}
				sizes = append(sizes, len(m.Covers))
				if _, err := s.Send(t.Context(), row.d.To, m, place); err != nil {
					t.Fatal(err)
				}
			}
			for _, body := range to.bodies {
				if len(body) > row.longest {
					t.Errorf("a body has %d bytes", len(body))
				}
				for _, it := range decode(t, body).Items {
					sent = append(sent, it.Finding.ID+" "+it.Event)
				}
			}
			if diff := cmp.Diff(row.items, sizes); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(covered, sent); diff != "" || len(sent) != len(row.d.Items) {
				t.Errorf("%d items were sent (-covered +sent):\n%s", len(sent), diff)
			}
		})
	}
}

func decode(t *testing.T, body string) webhook.Digest {
	t.Helper()
	var d webhook.Digest
	if err := json.Unmarshal([]byte(body), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// keys sends a digest and returns its key, and that of its first item.
func keys(t *testing.T, d notify.Digest) (string, string) {
	t.Helper()
	to := &receiver{}
	if err := send(t.Context(), newSender(t, "https://tickets.example.com", direct{to}), d); err != nil {
		t.Fatal(err)
	}
	return to.keys[0], decode(t, to.bodies[0]).Items[0].Key
}

func TestKeysIdentifyRepeats(t *testing.T) {
	first := func() notify.Digest { return digest(item(audit.EventOpened, stolen(), "checkout", "growth")) }
	digestKey, itemKey := keys(t, first())
	for _, row := range []struct {
		name                 string
		change               func(*notify.Digest)
		sameDigest, sameItem bool
	}{
		{"sent again", func(*notify.Digest) {}, true, true},
		{"at another time", func(d *notify.Digest) { d.Now = d.Now.AddDate(0, 0, 1) }, true, true},
		{"after another publisher claimed it", func(d *notify.Digest) { d.Items[0].Record.Notifications = []audit.Notification{{Sender: "webhook"}} }, true, true},
		{"with another order of owners", func(d *notify.Digest) { d.Items[0].Owners = []string{"growth", "checkout"} }, true, true},
		{"with another item", func(d *notify.Digest) {
			d.Items = append(d.Items, item(audit.EventOpened, missing(), "checkout"))
		}, false, true},
		{"with another message", func(d *notify.Digest) { d.Items[0].Record.Message = "It is claimed twice." }, false, true},
		{"to another owner", func(d *notify.Digest) { d.To.Owner = "growth" }, false, false},
		{"in another cluster", func(d *notify.Digest) { d.Cluster = "prod-eu-2" }, false, false},
		{"for other owners", func(d *notify.Digest) { d.Items[0].Owners = []string{"checkout"} }, false, false},
		{"another event", func(d *notify.Digest) { d.Items[0].Event = audit.EventResolved }, false, false},
		{"the same event after another notification", func(d *notify.Digest) { d.Items[0].NotifiedAt = swept }, false, false},
		{"a reopened finding", func(d *notify.Digest) { d.Items[0].Record.Reopened++ }, false, false},
		{"a finding that was deleted and opened again", func(d *notify.Digest) { d.Items[0].Record.OpenedAt = swept.AddDate(0, 2, 0) }, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := first()
			row.change(&d)
			gotDigest, gotItem := keys(t, d)
			if (gotDigest == digestKey) != row.sameDigest || (gotItem == itemKey) != row.sameItem {
				t.Errorf("the key of the digest is the same: %t; that of the item: %t", gotDigest == digestKey, gotItem == itemKey)
			}
		})
	}
}

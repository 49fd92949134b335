package webhook_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/notify/webhook"
)

var place audit.MessageRef

// many returns a digest of so many items, with so many bytes more in each.
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

func TestLongDigestsAreSeveral(t *testing.T) {
	for _, row := range []struct {
		name    string
		d       notify.Digest
		items   []int // of each message
		longest int
	}{
		{"nothing to tell is no message", many(0, 0), nil, 0},
		{"five hundred are one", many(500, 0), []int{500}, 1_000_000},
		{"one more is another message", many(501, 0), []int{500, 1}, 1_000_000},
		{"of a kind that is long, as many as make a megabyte", many(4, 300_000), []int{3, 1}, 1_000_000},
		{"one that is longer has a message of its own", many(2, 1_200_000), []int{1, 1}, 1_300_000},
	} {
		t.Run(row.name, func(t *testing.T) {
			to := &receiver{}
			s := newSender(t, "https://tickets.example.com", direct{to})
			var covered, told []string
			var sizes []int
			for i, m := range s.Plan(row.d) {
				if m.Parent != notify.NoParent || m.Thread != place || m.StartsThread || m.Optional {
					t.Errorf("message %d goes into a thread: %+v", i, m)
				}
				for _, c := range m.Covers {
					if c.Next != "" {
						t.Errorf("after %s comes %s", c.Event, c.Next)
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
					told = append(told, it.Finding.ID+" "+it.Event)
				}
			}
			if diff := cmp.Diff(row.items, sizes); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(covered, told); diff != "" || len(told) != len(row.d.Items) {
				t.Errorf("%d are told (-covered +told):\n%s", len(told), diff)
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

func TestKeysTellARepeat(t *testing.T) {
	first := func() notify.Digest { return digest(item(audit.EventOpened, stolen(), "checkout", "growth")) }
	digestKey, itemKey := keys(t, first())
	for _, row := range []struct {
		name                 string
		change               func(*notify.Digest)
		sameDigest, sameItem bool
	}{
		{"sent again it is the same", func(*notify.Digest) {}, true, true},
		{"so it is at another time", func(d *notify.Digest) { d.Now = d.Now.AddDate(0, 0, 1) }, true, true},
		{"and after somebody else took it", func(d *notify.Digest) { d.Items[0].Record.Notifications = []audit.Notification{{Sender: "webhook"}} }, true, true},
		{"whoever is named first", func(d *notify.Digest) { d.Items[0].Owners = []string{"growth", "checkout"} }, true, true},
		{"with more to tell, the item is the same", func(d *notify.Digest) {
			d.Items = append(d.Items, item(audit.EventOpened, missing(), "checkout"))
		}, false, true},
		{"in other words too", func(d *notify.Digest) { d.Items[0].Record.Message = "It is claimed twice." }, false, true},
		{"another owner is told anew", func(d *notify.Digest) { d.To.Owner = "growth" }, false, false},
		{"so is another cluster", func(d *notify.Digest) { d.Cluster = "prod-eu-2" }, false, false},
		{"and others by it", func(d *notify.Digest) { d.Items[0].Owners = []string{"checkout"} }, false, false},
		{"another event is told anew", func(d *notify.Digest) { d.Items[0].Event = audit.EventResolved }, false, false},
		{"and the same after something was told", func(d *notify.Digest) { d.Items[0].NotifiedAt = swept }, false, false},
		{"and a finding that came back", func(d *notify.Digest) { d.Items[0].Record.Reopened++ }, false, false},
		{"and one that was forgotten and is opened again", func(d *notify.Digest) { d.Items[0].Record.OpenedAt = swept.AddDate(0, 2, 0) }, false, false},
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

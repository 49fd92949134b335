package slack_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
)

// large are digests that do not fit one message, of findings as long as they get.
func large() []sample {
	longest := func(i int) audit.Record {
		r := host(fmt.Sprintf("%d%s", i, strings.Repeat("\u202e", 253)), "team-a")
		r.Message, r.Cause, r.Remedy = strings.Repeat("m", 3000), strings.Repeat("c", 3000), strings.Repeat("r", 3000)
		r.Owners = []string{"team-a", strings.Repeat("o", 3000)}
		for range 20 {
			o := r.Objects[0]
			o.Name, o.Namespace, o.Owner, o.Detail = strings.Repeat("n", 253), strings.Repeat("s", 253), strings.Repeat("o", 300), strings.Repeat("d", 3000)
			r.Objects = append(r.Objects, o)
		}
		r.ID = rules.ID(r.Rule, r.Subject)
		return r
	}
	var records, over []audit.Record
	for i := range 60 {
		records = append(records, longest(i))
		over = append(over, resolved(at(longest(i)), audit.ReasonResolved))
	}
	var out []sample
	for _, webhook := range []bool{false, true} {
		for _, event := range []audit.Event{audit.EventOpened, audit.EventReopened, audit.EventDetails, audit.EventChanged, audit.EventReleased, audit.EventReminder} {
			out = append(out,
				sample{name: "large " + string(event), digest: digest(60, items(event, audit.MessageRef{}, records...)), webhook: webhook},
				sample{name: "large in a thread " + string(event), digest: digest(60, items(event, parent, records...)), webhook: webhook})
		}
		d := digest(60, items(audit.EventResolved, parent, over...))
		d.To.Owner, d.Cluster, d.FallbackReason = strings.Repeat("o", 3000), strings.Repeat("c", 3000), strings.Repeat("i", 3000)
		out = append(out, sample{name: "large resolved", digest: d, webhook: webhook})
		d.Items = items(audit.EventChanged, audit.MessageRef{}, records...)
		out = append(out, sample{name: "large changed instead", digest: d, webhook: webhook})
		d.Items = items(audit.EventOpened, audit.MessageRef{}, records...)
		out = append(out, sample{name: "large opened instead", digest: d, webhook: webhook})
	}
	return out
}

// random makes a digest of anything, for a seed.
func random(seed uint64) sample {
	r := rand.New(rand.NewPCG(seed, 1))
	var lists []audit.Record
	for i := range r.IntN(40) + 1 {
		rec := host(fmt.Sprint(i, attacks()[r.IntN(len(attacks()))]), "team-a")
		rec.Severity = rules.Severity(r.IntN(3) + 1)
		rec.Storm, rec.Reopened = r.IntN(8) == 0, r.IntN(3)
		if r.IntN(3) == 0 {
			rec.Owners = []string{"team-b"}
		}
		if r.IntN(2) == 0 {
			rec = at(rec)
		}
		lists = append(lists, rec)
	}
	d := digest(r.IntN(50))
	events := []audit.Event{audit.EventOpened, audit.EventReopened, audit.EventChanged, audit.EventDetails, audit.EventResolved, audit.EventReleased, audit.EventReminder}
	for _, rec := range lists {
		event, place := events[r.IntN(len(events))], audit.MessageRef{}
		if event == audit.EventResolved {
			rec = resolved(rec, []audit.Reason{audit.ReasonResolved, audit.ReasonRuleRetired, audit.ReasonExcepted}[r.IntN(3)])
		}
		if len(rec.Notifications) > 0 {
			place = parent
		}
		d2 := digest(0, items(event, place, rec))
		d.Items = append(d.Items, d2.Items...)
		d.Earlier[parent] = append(d.Earlier[parent], d2.Earlier[parent]...)
	}
	return sample{name: fmt.Sprint("seed ", seed), digest: d, webhook: r.IntN(3) == 0}
}

package drill

import (
	"context"
	"fmt"
	"sync"

	"github.com/eventuallytrue/audit/audit"
)

// deliveries stands in for whoever tells owners: it counts what they would be told.
type deliveries struct {
	mu       sync.Mutex
	told     map[string]int
	believed int // news in the results of sweeps, whoever wrote it in the end
}

// believe counts what the result of a sweep says is new.
func (d *deliveries) believe(all []audit.Transition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range all {
		switch t.Why {
		case audit.Opened, audit.Reopened, audit.Mended:
			d.believed++
		}
	}
}

// tell is called once a record is written. A finding that opens, opens again or is
// resolved is news; that something of it changed is none.
func (d *deliveries) tell(r audit.Record) {
	news := r.State == audit.Resolved
	switch r.Reason {
	case audit.Opened, audit.Reopened:
		news = true
	}
	if !news {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.told == nil {
		d.told = map[string]int{}
	}
	// The same thing of the same life of the finding.
	d.told[fmt.Sprintf("%s %s %d", r.ID, r.Reason, r.Reopened)]++
}

func (d *deliveries) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told, d.believed = nil, 0
}

// count returns how much was told, and how much of it more than once.
func (d *deliveries) count() (all, twice int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range d.told {
		all += n
		twice += n - 1
	}
	return all, twice
}

// telling is a store that tells what was written, by whoever writes through it.
type telling struct {
	audit.Store
	told *deliveries
}

func (s telling) Create(ctx context.Context, r audit.Record) (audit.Stored, error) {
	st, err := s.Store.Create(ctx, r)
	if err == nil {
		s.told.tell(st.Record)
	}
	return st, err
}

func (s telling) Update(ctx context.Context, r audit.Stored) (audit.Stored, error) {
	st, err := s.Store.Update(ctx, r)
	if err == nil {
		s.told.tell(st.Record)
	}
	return st, err
}

package lease

import (
	"encoding/json"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// annotation is where the Lease keeps its History.
const annotation = "eventuallytrue.dev/publishers"

const (
	// maxTerms is how many configs a Lease remembers.
	maxTerms = 6
	// contestWithin is how long another config may have been in use before the earlier one
	// came back: a config that comes back after days was rolled back.
	contestWithin = 25 * time.Hour
	// contestFor is how long a config that came back is contested.
	contestFor = time.Hour
	maxHolder  = 100
)

// Note is what a holder leaves on the Lease for later ones.
type Note struct {
	Config   string // digest of its config
	Delivery string // digest of what decides whether receivers accept its messages
	At       time.Time
}

// History is what the notes of the holders so far say. It changes when their digests do.
type History struct {
	Terms []Term `json:"terms,omitempty"` // the last ones, in order
	// Delivery is the last digest of that kind, and DeliverySince is since when; zero if
	// it has never changed.
	Delivery      string    `json:"delivery,omitempty"`
	DeliverySince time.Time `json:"deliverySince,omitzero"`
}

// Term is the time in which holders had the same config.
type Term struct {
	Config string    `json:"config"`
	Holder string    `json:"holder"` // the first of them
	Since  time.Time `json:"since"`
}

// note returns the history after a holder has left a note.
func (h History) note(n Note, holder string) History {
	now := n.At.UTC().Truncate(time.Second)
	for i := range h.Terms {
		if h.Terms[i].Since.After(now) { // by a clock that is ahead
			h.Terms[i].Since = now
		}
	}
	if last := len(h.Terms) - 1; last < 0 || h.Terms[last].Config != n.Config {
		if len(holder) > maxHolder {
			holder = holder[:maxHolder]
		}
		h.Terms = append(h.Terms[max(0, len(h.Terms)+1-maxTerms):len(h.Terms):len(h.Terms)], Term{n.Config, holder, now})
	}
	if h.Delivery != n.Delivery {
		if h.Delivery != "" {
			h.DeliverySince = now
		}
		h.Delivery = n.Delivery
	}
	if h.DeliverySince.After(now) {
		h.DeliverySince = now
	}
	return h
}

// Contest returns the terms of two configs that are in use in turn: the present one, which
// had been in use before the other. A config that has changed once was rolled out.
func (h History) Contest(now time.Time) (mine, other Term, contested bool) {
	last := len(h.Terms) - 1
	if last < 2 || now.Sub(h.Terms[last].Since) > contestFor {
		return Term{}, Term{}, false
	}
	mine, other = h.Terms[last], h.Terms[last-1]
	for i := last - 2; i >= 0; i-- {
		if h.Terms[i].Config == mine.Config && mine.Since.Sub(h.Terms[i+1].Since) <= contestWithin {
			return mine, other, true
		}
	}
	return Term{}, Term{}, false
}

// historyOf returns the history on a Lease. What others have written there counts as none.
func historyOf(l *coordinationv1.Lease) History {
	var h History
	if json.Unmarshal([]byte(l.Annotations[annotation]), &h) != nil {
		return History{}
	}
	return h
}

// annotate leaves a note on a Lease that is about to be written.
func (l *Lease) annotate(lease *coordinationv1.Lease, holder string) {
	if l.opts.Note == nil {
		return
	}
	h := historyOf(lease).note(l.opts.Note(), holder)
	// It has nothing that could not be encoded.
	if data, err := json.Marshal(h); err == nil {
		annotations := map[string]string{annotation: string(data)}
		for k, v := range lease.Annotations {
			if k != annotation {
				annotations[k] = v
			}
		}
		lease.Annotations = annotations
	}
}

package webhook

import (
	"time"

	"github.com/eventuallytrue/audit/notify/report"
)

// Kind is the kind of the document that is sent. Its API version is that of the
// report.
const Kind = "Digest"

// Digest is what a receiver reads: what one owner is to be told. It is written as
// the report is: lists are never null, strings that say nothing are left out, and
// so are times that are not known, which are in UTC. Fields may be added.
//
// It holds no time of its own, so that a digest which is sent again is the same
// to the byte. digest.schema.json describes it.
type Digest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Cluster is the name that the config gives the cluster.
	Cluster string `json:"cluster,omitempty"`
	// Owner is who is to be told: the owner, or the fallback owner.
	Owner string `json:"owner"`
	// Instead says for whom it was, and why they cannot be reached, where it goes
	// to the fallback owner in their place.
	FallbackReason string `json:"fallbackReason,omitempty"`
	// Open counts the owner's open findings, those in other digests too.
	Open  int    `json:"open"`
	Items []Item `json:"items"` // by severity (highest first), rule, subject, event
}

// Item is what is told of one finding.
type Item struct {
	// Key is the same whenever the same thing is told again, since it is not known
	// whether it arrived, even in a digest with other items.
	Key   string   `json:"key"`
	Event string   `json:"event"` // opened, reopened, changed, details, resolved, released or reminder
	To    []string `json:"to"`    // the owners who are told by it; finding.owners are all
	// LastEvent is what they were told of the finding before, and LastToldAt when
	// they were told anything of it last; left out where they were told nothing.
	LastEvent      string               `json:"lastEvent,omitempty"`
	LastNotifiedAt time.Time            `json:"lastNotifiedAt,omitzero"`
	Finding        report.StoredFinding `json:"finding"`
}

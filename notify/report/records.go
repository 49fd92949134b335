package report

import (
	"fmt"
	"io"
	"time"

	"github.com/eventuallytrue/audit/audit"
)

// FindingList is what a program reads of the findings that are kept.
type FindingList struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"` // FindingList
	Findings   []StoredFinding `json:"findings"`
}

// StoredFinding is a finding with its life.
type StoredFinding struct {
	Finding    `json:",inline"`
	Reason     string     `json:"reason,omitempty"` // why it is in its state
	OpenedAt   time.Time  `json:"openedAt,omitzero"`
	ResolvedAt time.Time  `json:"resolvedAt,omitzero"`
	Reopened   int        `json:"reopened,omitempty"` // how often it came back
	Storm      bool       `json:"storm,omitempty"`    // opened with very many others
	Told       []TellMark `json:"told,omitempty"`
}

// TellMark is what one owner was told by one sender, and what is to be told.
type TellMark struct {
	Sender  string    `json:"sender"`
	Owner   string    `json:"owner"`
	Due     string    `json:"due,omitempty"`
	Last    string    `json:"last,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Channel string    `json:"channel,omitempty"` // where the opening was told
	Message string    `json:"message,omitempty"`
	Error   string    `json:"error,omitempty"` // why it was refused
}

// WriteRecords writes what is kept as JSON or YAML.
func WriteRecords(w io.Writer, format Format, records []audit.Record) error {
	list := FindingList{APIVersion: APIVersion, Kind: "FindingList", Findings: each(records, fromRecord)}
	data, err := encoded(format, list)
	if err != nil {
		return fmt.Errorf("encode findings: %w", err)
	}
	_, err = w.Write(data)
	return err
}

func fromRecord(r audit.Record) StoredFinding {
	return StoredFinding{
		Finding: fromFinding(r.Finding), Reason: string(r.Reason), OpenedAt: instant(r.OpenedAt),
		ResolvedAt: instant(r.ResolvedAt), Reopened: r.Reopened, Storm: r.Storm,
		Told: eachOrNone(r.Notifications, fromTold),
	}
}

func fromTold(t audit.Notification) TellMark {
	return TellMark{
		Sender: t.Sender, Owner: t.Owner, Due: string(t.Pending), Last: string(t.Last), At: instant(t.At),
		Channel: t.Message.Channel, Message: t.Message.Message, Error: t.Error,
	}
}

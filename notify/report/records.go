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
	Reason     string    `json:"reason,omitempty"` // why it is in its state
	OpenedAt   time.Time `json:"openedAt,omitzero"`
	ResolvedAt time.Time `json:"resolvedAt,omitzero"`
	Reopened   int       `json:"reopened,omitempty"` // how often it came back
	Storm      bool      `json:"storm,omitempty"`    // opened with very many others
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
	}
}

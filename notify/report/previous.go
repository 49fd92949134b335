package report

import (
	"fmt"
	"io"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
)

// maxReport bounds the bytes of a report that is read back.
const maxReport = 256 << 20

// Read reads a report that was written as JSON or YAML.
func Read(in io.Reader) (*Report, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxReport+1))
	if err != nil {
		return nil, fmt.Errorf("read report: %w", err)
	}
	if len(data) > maxReport {
		return nil, fmt.Errorf("read report: it is larger than %d MiB", maxReport>>20)
	}
	var r Report
	if err := yaml.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("read report: %w", err)
	}
	if r.APIVersion != APIVersion || r.Kind != Kind {
		return nil, fmt.Errorf("read report: it is no %s of %s", Kind, APIVersion)
	}
	return &r, nil
}

// Previous returns what the report tells a later sweep.
func (r *Report) Previous() *audit.Previous {
	p := &audit.Previous{
		At:        r.StartedAt,
		FirstSeen: make(map[string]time.Time, len(r.Findings)),
		Isolation: make(map[string]rules.Isolation, len(r.Isolation)),
	}
	for _, f := range r.Findings {
		p.FirstSeen[f.ID] = f.FirstSeen
	}
	for _, row := range r.Isolation {
		p.Isolation[row.Namespace] = rules.Isolation{
			Namespace: row.Namespace, Ingress: rules.IsolationState(row.Ingress), Egress: rules.IsolationState(row.Egress),
			NotEvaluated: row.NotEvaluated,
		}
	}
	return p
}

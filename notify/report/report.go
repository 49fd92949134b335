// Package report writes the result of a sweep: as a table for people, or as JSON or
// YAML for programs.
//
// The audit.Result already has everything in the order in which it is printed. This
// package makes sure that an incomplete sweep never reads like a clean one, that a
// terminal cannot interpret text from a cluster as anything but text, and that the
// document for programs is stable.
package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/audit"
)

// Format is how a report is written.
type Format string

const (
	Table Format = "table" // for people, fitted to the terminal
	Wide  Format = "wide"  // for people, with all details and nothing cut
	JSON  Format = "json"  // a Report
	YAML  Format = "yaml"  // a Report
	HTML  Format = "html"  // a page, of a sweep only; package html writes it
)

// Formats returns the formats that this package writes, in the order of the help.
func Formats() []Format { return []Format{Table, Wide, JSON, YAML} }

// ParseFormat returns the format of that name, one of Formats or of more. The error names
// all of them.
func ParseFormat(name string, more ...Format) (Format, error) {
	formats := append(Formats(), more...)
	if f := Format(name); slices.Contains(formats, f) {
		return f, nil
	}
	var names []string
	for _, f := range formats {
		names = append(names, string(f))
	}
	return "", fmt.Errorf("unknown output format %q, must be one of %s", name, strings.Join(names, ", "))
}

// Write writes a report. Nothing is written if encoding fails.
func Write(w io.Writer, format Format, res *audit.Result, opts Options) error {
	var out []byte
	var err error
	switch format {
	case Table, Wide:
		out = people(res, opts, format == Wide)
	case JSON:
		out, err = EncodeJSON(fromSelected(res, opts.Selection))
	case YAML:
		out, err = encodeYAML(fromSelected(res, opts.Selection))
	default:
		_, err = ParseFormat(string(format))
	}
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	if _, err := io.Copy(w, bytes.NewReader(out)); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// people returns the report for people. It begins with what must not be missed: that
// the sweep is clean, or what is unknown. It ends with the summary, which stays
// visible above the prompt when the rest has scrolled away.
func people(res *audit.Result, opts Options, wide bool) []byte {
	p := newPrinter(opts, res.Started)
	p.wide = wide
	if res.Complete() && len(res.Findings) == 0 {
		p.clean(res)
		p.rest(res)
		return []byte(p.buf.String())
	}
	tail := *p
	tail.buf = strings.Builder{}
	tail.rest(res)
	tail.summary(res)
	tail.hint(res)
	if res.Complete() {
		p.complete(res)
	} else {
		p.incomplete(res)
	}
	if wide {
		p.findings(selected(records(res.Findings), opts.Selection))
	} else {
		lines := strings.Count(p.buf.String(), "\n") + strings.Count(tail.buf.String(), "\n")
		p.table(records(res.Findings), opts.Selection, max(screen-lines, leastLines))
	}
	return []byte(p.buf.String() + tail.buf.String())
}

// newPrinter returns a printer of text in which ages are relative to a time.
func newPrinter(opts Options, now time.Time) *printer {
	return &printer{
		width: max(cmp.Or(opts.Width, DefaultWidth), MinWidth),
		color: opts.Color,
		now:   now, selection: opts.Selection, program: show(cmp.Or(opts.Program, "audit")),
	}
}

// rest writes what follows the findings.
func (p *printer) rest(res *audit.Result) {
	p.messages(res)
	p.unpublished(res)
	p.notEvaluated(res)
	p.advisories(res)
	p.details(res)
}

// WriteRecords writes stored findings as JSON or YAML.
func WriteRecords(w io.Writer, format Format, records []audit.Record) error {
	list := FindingList{APIVersion: APIVersion, Kind: "FindingList", Findings: each(records, FromRecord)}
	data, err := encoded(format, list)
	if err != nil {
		return fmt.Errorf("encode findings: %w", err)
	}
	_, err = w.Write(data)
	return err
}

// WriteOwners writes the owner of each namespace, and where the owner is notified, as
// JSON or YAML. Both lists have the same length.
func WriteOwners(w io.Writer, format Format, cluster string, owners []audit.NamespaceOwner, destinations []audit.Destination) error {
	list := OwnerList{APIVersion: APIVersion, Kind: "OwnerList", Cluster: cluster, Namespaces: []NamespaceOwner{}}
	for i, o := range owners {
		list.Namespaces = append(list.Namespaces, NamespaceOwner{
			Namespace: o.Namespace, Owner: o.Owner, DecidedBy: o.By, Registry: o.Registry, Shared: o.Shared,
			Channel: o.Channel, Allowed: o.Allowed,
			Destination: Destination{
				From: string(destinations[i].From), Channel: destinations[i].Channel, WebhookFile: destinations[i].WebhookFile,
			},
		})
	}
	data, err := encoded(format, list)
	if err != nil {
		return fmt.Errorf("encode owners: %w", err)
	}
	_, err = w.Write(data)
	return err
}

// encoded returns a document as YAML, or as JSON otherwise.
func encoded(format Format, document any) ([]byte, error) {
	if format == YAML {
		return encodeYAML(document)
	}
	return EncodeJSON(document)
}

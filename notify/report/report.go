// Package report writes what one sweep found: as a table for people, or as
// JSON or YAML for programs.
//
// It decides nothing. What is broken, who owns it and how bad it is stands in
// the audit.Result already, in the order in which it is printed. The package
// sees to three things: that an incomplete sweep is never read as a clean one,
// that no text from a cluster reaches a terminal as anything but text, and that
// programs get a document that stays as it is. Package cmd calls it.
package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/audit"
)

// Format is how a report is written.
type Format string

// The formats there are.
const (
	Table Format = "table" // for people, fitted to the width
	Wide  Format = "wide"  // for people, everything and nothing cut
	JSON  Format = "json"  // a Report
	YAML  Format = "yaml"  // a Report
)

// Formats returns all formats in the order in which users read them.
func Formats() []Format { return []Format{Table, Wide, JSON, YAML} }

// ParseFormat returns the format of that name. The error names all formats.
func ParseFormat(name string) (Format, error) {
	if f := Format(name); slices.Contains(Formats(), f) {
		return f, nil
	}
	var names []string
	for _, f := range Formats() {
		names = append(names, string(f))
	}
	return "", fmt.Errorf("output format %q is none of %s", name, strings.Join(names, ", "))
}

// Options are how Table and Wide look. The other formats heed none of them.
type Options struct {
	// Width is the number of columns to fit. No line of a Table is wider; in
	// Wide the running text keeps to it, while rows are as wide as their names.
	// Zero means DefaultWidth; less than MinWidth means MinWidth.
	Width int
	// Color lets severities, subjects and ages stand out by ANSI sequences.
	Color bool
}

// Write writes the whole report at once, so that an error leaves no half of it
// behind unless the writer itself broke off.
func Write(w io.Writer, format Format, res *audit.Result, opts Options) error {
	var out []byte
	var err error
	switch format {
	case Table, Wide:
		out = printed(res, opts, format == Wide)
	case JSON:
		out, err = encodeJSON(From(res))
	case YAML:
		out, err = encodeYAML(From(res))
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

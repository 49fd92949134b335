// Package html writes the report of a sweep as one self-contained page.
//
// The page loads nothing: its style and its script are in it, and its content security
// policy names them by hash, so that no text of a cluster can run or fetch anything even
// if it escaped the markup. It is readable without the script, which only filters.
package html

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/eventuallytrue/audit/audit"
)

//go:embed page.css
var style string

//go:embed page.js
var script string

// Write writes the page of a result. An error is one of the writer.
func Write(w io.Writer, res *audit.Result) error {
	var out page
	newView(res).write(&out)
	if _, err := out.WriteTo(w); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// policy is the content security policy: nothing but this style and this script.
func policy() string {
	return fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", hash(style), hash(script))
}

func hash(source string) string {
	sum := sha256.Sum256([]byte(source))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// anchor returns the ID of an element about something with a name: names that differ have
// IDs that differ, and the usual ones are readable.
func anchor(kind, name string) string {
	var b strings.Builder
	b.WriteString(kind + "-")
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '.':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

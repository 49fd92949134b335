package manifests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxYAML bounds the bytes of one YAML document. The parser builds a tree that takes up to
// a hundred times as much memory, and no object that an API server stores has more than a
// few MiB. A list may have more: kubectl also prints it as JSON, which needs no tree.
const maxYAML = 8 << 20

// documents splits a YAML stream into its documents. It looks only at the lines that
// begin or end one, so a document that does not parse does not affect the others.
type documents struct {
	in *bufio.Reader

	// The document that is being read.
	text   []byte // up to maxYAML
	size   int
	begun  bool // by a marker or by content
	filled bool // it has more than blanks and comments
	behind bool // there is content in the line that ends it
}

// documentError is the reason why one document cannot be read. More documents may follow.
type documentError string

func (e documentError) Error() string { return string(e) }

var errLargeYAML = documentError(fmt.Sprintf(
	"it is larger than %d MiB: use JSON (kubectl get -o json) or several YAML documents", maxYAML>>20))

// next returns the next document with the marker that begins it, or io.EOF. The document
// is empty if it has only blanks and comments. After an error other than a documentError
// there are no more documents.
func (d *documents) next() ([]byte, error) {
	*d = documents{in: d.in}
	for {
		m := d.marker()
		if m == begins && d.begun {
			return d.done()
		}
		err := d.line(m)
		switch {
		case m == ends && d.begun, errors.Is(err, io.EOF) && d.size > 0:
			return d.done()
		case err != nil:
			return nil, err
		}
	}
}

func (d *documents) done() ([]byte, error) {
	switch {
	case d.size > maxYAML:
		return nil, errLargeYAML
	case d.behind:
		return nil, documentError("parse YAML: content follows the dots that end it")
	case !d.filled:
		return nil, nil
	}
	text := d.text
	d.text = nil // so that the caller can release it
	return text, nil
}

// line adds the next line to the document, unless it ends it.
func (d *documents) line(m marker) error {
	for first := true; ; first = false {
		part, err := d.in.ReadSlice('\n')
		if first {
			d.look(part, m)
		}
		if m != ends {
			d.size += len(part)
			if d.size <= maxYAML {
				d.text = append(d.text, part...)
			}
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(part) > 0:
			return nil
		default:
			return err
		}
	}
}

// look records what a line, with a marker or without, means for the document. Directives
// precede the marker of their document and mean nothing.
func (d *documents) look(line []byte, m marker) {
	switch {
	case m != none:
		line = line[3:]
	case !d.begun && bytes.HasPrefix(line, []byte("%")):
		return
	}
	line = bytes.TrimLeft(line, " \t\r\n")
	content := len(line) > 0 && line[0] != '#'
	if m == ends {
		d.behind = content
	} else {
		d.filled = d.filled || content
	}
	d.begun = d.begun || content || m == begins
}

// marker is the role of a line at the beginning or the end of a document.
type marker uint8

const (
	none   marker = iota
	begins        // three dashes
	ends          // three dots
)

const byteOrderMark = "\ufeff"

// marker returns the marker at the start of the next line. It drops a byte order mark
// before one, as in files that were concatenated.
func (d *documents) marker() marker {
	head, _ := d.in.Peek(len(byteOrderMark) + len("--- "))
	if rest, ok := bytes.CutPrefix(head, []byte(byteOrderMark)); ok && markerAt(rest) != none {
		_, _ = d.in.Discard(len(byteOrderMark)) // was peeked at
		head = rest
	}
	return markerAt(head)
}

func markerAt(line []byte) marker {
	if len(line) < 3 || len(line) > 3 && bytes.IndexByte([]byte(" \t\r\n"), line[3]) < 0 {
		return none
	}
	switch string(line[:3]) {
	case "---":
		return begins
	case "...":
		return ends
	}
	return none
}

package manifests

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// maxJSON bounds the bytes of one JSON value, which is held as a whole. It is larger
// than the bound of a YAML document, because it takes far less memory than its tree.
const maxJSON = 256 << 20

// startsJSON reports whether the first characters other than blanks open a JSON
// value. It drops the blank lines before it. A brace opens a YAML mapping as well,
// unless a quote follows: in JSON nothing else does, and in YAML it is rare.
func startsJSON(in *bufio.Reader) bool {
	brace := false
	for n := 1; ; n++ {
		head, err := in.Peek(n)
		if err != nil {
			return brace
		}
		switch c := head[n-1]; {
		case c == '\n' && !brace:
			_, _ = in.Discard(n) // was peeked at
			n = 0
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case brace:
			return c == '"' || c == '}'
		case c == '{':
			brace = true
		default:
			return c == '['
		}
	}
}

// readJSON reads JSON values one after the other. After one that does not parse
// there is no telling where the next begins.
func (r *reader) readJSON(ctx context.Context, name string, in io.Reader) {
	limited := &limitedReader{in: in}
	values := json.NewDecoder(limited)
	for n := 1; ctx.Err() == nil; n++ {
		where := fmt.Sprintf("%s document %d", name, n)
		limited.end = values.InputOffset() + maxJSON
		// The text belongs to the decoder, which spares a copy of it.
		read := eachValue(func(text []byte) {
			r.object(where, text, typeMeta{}, 0)
		})
		switch err := values.Decode(&read); {
		case errors.Is(err, io.EOF):
			return
		case errors.Is(err, errTooLarge):
			r.problems.add(where, fmt.Errorf("%w; what follows was not read", err))
			return
		case err != nil:
			r.unparsedJSON(where, fmt.Errorf("parse JSON: %w; what follows was not read", err))
			return
		}
	}
}

// limitedReader reads up to an offset that can be moved on.
type limitedReader struct {
	in      io.Reader
	at, end int64
}

var errTooLarge = fmt.Errorf("it has more than %d MiB", maxJSON>>20)

func (l *limitedReader) Read(p []byte) (int, error) {
	if l.at >= l.end {
		return 0, errTooLarge
	}
	n, err := l.in.Read(p[:min(int64(len(p)), l.end-l.at)])
	l.at += int64(n)
	return n, err
}

// unparsedJSON records a JSON value that does not parse. The text is gone, so that of the
// file says whether it may have held an object.
func (r *reader) unparsedJSON(where string, err error) {
	const head = 64 << 10 // has the type of an object that is not a list
	text, readErr := textOf(r.path, head)
	switch {
	case r.path == "" || readErr != nil:
		r.problems.add(where, err)
	case len(text) < head:
		r.unparsed(where, text, err)
	case fileMentionsType(r.path):
		r.problems.add(where, err)
	default:
		r.problems.untyped(where, err)
	}
}

// textOf returns the first bytes of a file again.
func textOf(path string, limit int64) ([]byte, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close() // it was only read
	return io.ReadAll(io.LimitReader(decoded(in), limit))
}

// fileMentionsType reports whether a file may have an object. If it cannot be read again, it
// may.
func fileMentionsType(path string) bool {
	for _, mention := range typeMention {
		in, err := os.Open(path)
		if err != nil {
			return true
		}
		found := mention.MatchReader(bufio.NewReader(decoded(in)))
		_ = in.Close() // it was only read
		if !found {
			return false
		}
	}
	return true
}

// decoded returns a stream in UTF-8: PowerShell writes the output of kubectl in UTF-16.
func decoded(in io.Reader) io.Reader {
	return transform.NewReader(in, unicode.BOMOverride(transform.Nop))
}

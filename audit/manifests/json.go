package manifests

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
			r.documents++
			r.object(where, text, typeMeta{}, 0)
		})
		switch err := values.Decode(&read); {
		case errors.Is(err, io.EOF):
			return
		case errors.Is(err, errTooLarge):
			r.problem(where, fmt.Errorf("%w; what follows was not read", err))
			return
		case err != nil:
			r.problem(where, fmt.Errorf("parse JSON: %w; what follows was not read", err))
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

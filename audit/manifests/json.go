package manifests

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxValue bounds the bytes of one JSON value, all of which are held before it is
// taken in. It may be larger than a document of YAML since it takes far less room
// than that once it is parsed, and is what programs write.
const maxValue = 256 << 20

// startsJSON reports whether what comes first, but for blanks, opens a JSON value.
// It drops the blank lines before it. A brace opens a mapping of YAML too, unless
// a quote follows: in JSON nothing else does, and in YAML next to nobody writes it.
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

// readJSON reads JSON values one after the other. Behind one that does not parse
// nobody can tell where the next begins.
func (r *reader) readJSON(ctx context.Context, name string, in io.Reader) {
	limited := &stretch{in: in}
	values := newDecoder(limited)
	for n := 1; ctx.Err() == nil; n++ {
		where := fmt.Sprintf("%s document %d", name, n)
		limited.end = values.InputOffset() + maxValue
		v, err := readValue(values)
		if errors.Is(err, io.EOF) {
			return
		}
		if errors.Is(err, errTooLarge) {
			r.problem(where, fmt.Errorf("%w; what follows was not read", err))
			return
		}
		if err != nil {
			r.problem(where, fmt.Errorf("parse JSON: %w; what follows was not read", err))
			return
		}
		r.documents++
		r.object(where, v, typeMeta{}, 0)
	}
}

func newDecoder(in io.Reader) *json.Decoder {
	d := json.NewDecoder(in)
	d.UseNumber() // a number may be larger than any that Go knows
	return d
}

// stretch reads up to an offset, which may be moved on.
type stretch struct {
	in      io.Reader
	at, end int64
}

var errTooLarge = fmt.Errorf("it has more than %d MiB", maxValue>>20)

func (s *stretch) Read(p []byte) (int, error) {
	if s.at >= s.end {
		return 0, errTooLarge
	}
	n, err := s.in.Read(p[:min(int64(len(p)), s.end-s.at)])
	s.at += int64(n)
	return n, err
}

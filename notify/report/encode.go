package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/notify/visible"
)

// encoded returns a document as YAML, or as JSON otherwise.
func encoded(format Format, document any) ([]byte, error) {
	if format == YAML {
		return encodeYAML(document)
	}
	return encodeJSON(document)
}

// encodeJSON returns a document as JSON that is harmless on a terminal too:
// encoding/json itself lets DEL, the C1 controls and bidi controls through.
// Bytes that are no UTF-8 become U+FFFD.
func encodeJSON(document any) ([]byte, error) {
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false) // it is no HTML, and owners read <none> better
	enc.SetIndent("", "  ")
	if err := enc.Encode(document); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.Grow(plain.Len())
	for text := plain.Bytes(); len(text) > 0; {
		// Nearly all of it is plain.
		n := slices.IndexFunc(text, func(b byte) bool { return b != '\n' && (b < ' ' || b >= 0x7f) })
		if n < 0 {
			n = len(text)
		}
		out.Write(text[:n])
		if text = text[n:]; len(text) == 0 {
			break
		}
		c, size := utf8.DecodeRune(text)
		text = text[size:]
		// Outside of strings JSON holds nothing that is not visible, but for
		// the line feeds between its lines.
		switch {
		case c == '\n' || visible.Rune(c):
			out.WriteRune(c)
		case c > 0xffff:
			hi, lo := utf16.EncodeRune(c)
			fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&out, `\u%04x`, c)
		}
	}
	return out.Bytes(), nil
}

// encodeYAML returns the same document as YAML, with the same strings in it.
//
// The YAML library neither reads DEL and the C1 controls nor escapes bidi
// controls. So a rune that must not be seen raw goes through it as a mark that
// it has to escape, and becomes an escape of the rune itself thereafter.
func encodeYAML(document any) ([]byte, error) {
	b, err := encodeJSON(document)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, err
	}
	b, err = yaml.Marshal(marked(tree))
	if err != nil {
		return nil, err
	}
	return markInYAML.ReplaceAllFunc(b, unmark), nil
}

// marked returns the tree with marks in its strings.
func marked(tree any) any {
	switch t := tree.(type) {
	case map[string]any:
		for k, v := range t {
			t[k] = marked(v)
		}
	case []any:
		for i, v := range t {
			t[i] = marked(v)
		}
	case string:
		return mark(t)
	}
	return tree
}

// mark puts "\x01<hex>;" for every rune that must not be seen raw. U+0001 makes
// the library quote the string and write it as \x01, with every backslash of
// the string itself doubled. A string that holds those four characters as they
// are gets an empty mark, so that it is quoted as well and cannot be mistaken.
func mark(s string) string {
	var b strings.Builder
	if strings.Contains(s, `\x01`) {
		b.WriteString("\x01;")
	}
	for _, c := range s {
		if visible.Rune(c) || c == '\n' {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, "\x01%x;", c)
		}
	}
	return b.String()
}

// markInYAML finds a mark as the library writes it. Doubled backslashes are
// found as well, so that the second of them begins no mark.
var markInYAML = regexp.MustCompile(`\\\\|\\x01[0-9a-f]*;`)

func unmark(found []byte) []byte {
	hex, ok := bytes.CutPrefix(found, []byte(`\x01`))
	if !ok {
		return found
	}
	n, err := strconv.ParseUint(string(bytes.TrimSuffix(hex, []byte(";"))), 16, 32)
	if err != nil {
		return nil // the empty mark
	}
	return []byte(visible.Escape(rune(n))) // which YAML reads as Go does
}

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

// EncodeJSON returns a document as indented JSON that is also safe to print on a
// terminal: encoding/json does not escape DEL, the C1 controls and bidi controls.
// Bytes that are not UTF-8 become U+FFFD.
func EncodeJSON(document any) ([]byte, error) {
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false) // keeps <none> readable
	enc.SetIndent("", "  ")
	if err := enc.Encode(document); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.Grow(plain.Len())
	for text := plain.Bytes(); len(text) > 0; {
		// Copy printable ASCII, which is nearly everything, in one go.
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
		// Outside of strings, the only invisible character is the line feed.
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

// encodeYAML returns the same document as YAML, with the same strings.
//
// The YAML library can't read DEL and the C1 controls, and does not escape bidi
// controls. So runes that must not appear raw are replaced by a mark that the library
// escapes, and the escaped mark is then replaced by an escape of the rune.
func encodeYAML(document any) ([]byte, error) {
	b, err := EncodeJSON(document)
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

// mark replaces every rune that must not appear raw with "\x01<hex>;". U+0001 makes the
// library quote the string and write it as \x01, with every backslash of the string
// itself doubled. A string that contains the four characters \x01 gets an empty mark,
// so that it is quoted too and cannot be mistaken for a mark.
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

// markInYAML matches a mark as the library writes it. It also matches doubled
// backslashes, so that the second one does not begin a mark.
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

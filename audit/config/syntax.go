package config

import (
	"bytes"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"
)

var parserPrefix = regexp.MustCompile(`^yaml: (line \d+: )?`)

// syntaxMessage returns what the parser says against a file, without the line
// that it names, and what to do about the mistakes that people make most.
func syntaxMessage(err error) string {
	message := parserPrefix.ReplaceAllString(err.Error(), "")
	hint := ""
	switch {
	case strings.HasPrefix(message, "unknown anchor"):
		return noAliases
	case strings.HasPrefix(message, "mapping values are not allowed"):
		hint = " (text with a colon and a space in it needs quotes)"
	case strings.HasPrefix(message, "found character that cannot start any token"):
		hint = " (text that begins with @, ` or % needs quotes, and tabs do not indent)"
	case strings.HasPrefix(message, "found a tab"):
		hint = " (indent with spaces)"
	case message == "did not find expected key":
		hint = " (is the line indented like its neighbours?)"
	case message == "found unexpected end of stream":
		hint = " (is a quote left open?)"
	}
	return "not YAML: " + message + hint
}

// syntaxLine returns the line at which the parser meets the error. The parser
// itself names the start of what it was reading, one line off, or no line. So
// the line is the last one of the shortest beginning of the file with that
// very error.
func syntaxLine(data []byte, whole error) int {
	lines := bytes.SplitAfter(data, []byte("\n"))
	ends := make([]int, len(lines))
	end := 0
	for i, line := range lines {
		end += len(line)
		ends[i] = end
	}
	// The last line needs no proof.
	return 1 + sort.Search(len(ends)-1, func(i int) bool {
		_, _, err := documents(data[:ends[i]])
		return err != nil && err.Error() == whole.Error()
	})
}

func firstInvalid(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

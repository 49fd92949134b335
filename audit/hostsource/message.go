package hostsource

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
)

// compileError says what is wrong with an expression and where, by its first
// mistake: those behind it often come from that one.
func compileError(text string, errs []*common.Error) error {
	first := errs[0]
	message := strings.TrimPrefix(first.Message, "Syntax error: ")
	message = strings.ReplaceAll(message, " (in container '')", "")
	if first.Location == nil || first.Location.Line() < 1 {
		return fmt.Errorf("does not compile: %s", clean(message))
	}
	where := fmt.Sprintf("column %d", first.Location.Column()+1)
	if strings.Contains(text, "\n") {
		where = fmt.Sprintf("line %d, %s", first.Location.Line(), where)
	}
	return fmt.Errorf("does not compile at %s: %s", where, clean(message))
}

// typeName names a type for people.
func typeName(t *cel.Type) string { return clean(cel.FormatCELType(t)) }

// longestMessage is the number of letters of a message or of a value in one.
const longestMessage = 160

// clean puts a text on one line of a bearable length. What does not print
// becomes a blank: parts of the text come from the config or from an object.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if letters := []rune(text); len(letters) > longestMessage {
		text = string(letters[:longestMessage-1]) + "…"
	}
	return text
}

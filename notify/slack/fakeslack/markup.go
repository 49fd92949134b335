package fakeslack

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// entity is a character that a sender escaped.
var entity = regexp.MustCompile(`^&(amp|lt|gt);`)

// checkMarkup refuses what Slack would obey in a text of its markup: control
// sequences that the test did not allow, and characters that nobody escaped.
func (s *Server) checkMarkup(text string) *problem {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '<':
			end := strings.IndexByte(text[i:], '>')
			if end < 0 || !slices.Contains(s.config.Allowed, text[i:i+end+1]) {
				return &problem{"fakeslack_control_sequence", "not allowed: " + around(text, i)}
			}
			i += end
		case '>':
			return &problem{"fakeslack_unescaped", "a > is not escaped: " + around(text, i)}
		case '&':
			if !entity.MatchString(text[i:]) {
				return &problem{"fakeslack_unescaped", "an & is not escaped: " + around(text, i)}
			}
		}
	}
	return nil
}

// checkVisible refuses characters that hide what is written: controls but for
// line breaks, and what turns the direction of writing or has no width.
func checkVisible(text string) *problem {
	for i, r := range text {
		if r != '\n' && (unicode.Is(unicode.C, r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)) {
			return &problem{"fakeslack_invisible", "a character cannot be seen: " + around(text, i)}
		}
	}
	return nil
}

// around quotes the place of a text.
func around(text string, at int) string {
	return strconv.QuoteToASCII(text[max(0, at-20):min(len(text), at+40)])
}

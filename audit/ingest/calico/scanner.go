package calico

import (
	"fmt"
	"strings"
)

// literal takes a string in single or double quotes.
func (p *parser) literal() (string, error) {
	for _, quote := range []string{`"`, `'`} {
		rest, ok := strings.CutPrefix(p.text[p.at:], quote)
		if !ok {
			continue
		}
		value, _, ok := strings.Cut(rest, quote)
		if !ok {
			return "", fmt.Errorf("position %d: the string does not end", p.at+1)
		}
		p.at += len(value) + 2
		p.blanks()
		return value, nil
	}
	return "", p.unexpected("a string in quotes")
}

// maxKey is the length of the longest label that Calico knows.
const maxKey = 512

func (p *parser) key() (string, error) {
	rest := p.text[p.at:]
	end := strings.IndexFunc(rest, func(r rune) bool { return !isKeyRune(r) })
	if end < 0 {
		end = len(rest)
	}
	if end == 0 {
		return "", p.unexpected("a label")
	}
	if end > maxKey {
		return "", fmt.Errorf("position %d: the label is longer than %d characters", p.at+1, maxKey)
	}
	p.at += end
	p.blanks()
	return rest[:end], nil
}

func isKeyRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./-", r)
}

func (p *parser) blanks() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t') {
		p.at++
	}
}

// take takes a sign, if it is next.
func (p *parser) take(sign string) bool {
	if !strings.HasPrefix(p.text[p.at:], sign) {
		return false
	}
	p.at += len(sign)
	p.blanks()
	return true
}

// takeWords takes the words of an operator, if they are next. Calico lets them
// run into each other; what follows is a quote or a brace.
func (p *parser) takeWords(words []string) bool {
	start := p.at
	for _, word := range words {
		if !p.take(word) {
			p.at = start
			return false
		}
	}
	return true
}

func (p *parser) expect(sign string) error {
	if !p.take(sign) {
		return p.unexpected(sign)
	}
	return nil
}

func (p *parser) unexpected(want string) error {
	rest := p.text[p.at:]
	if rest == "" {
		return fmt.Errorf("position %d: the selector ends where %s should be", p.at+1, want)
	}
	if len(rest) > 12 {
		rest = rest[:12] + "..."
	}
	return fmt.Errorf("position %d: %q where %s should be", p.at+1, rest, want)
}

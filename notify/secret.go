package notify

import (
	"encoding"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
)

// shownSecret is all that is ever seen of a Secret.
const shownSecret = "<secret>"

// Secret is a token or key. However it is printed, logged or encoded, "<secret>" is
// what is seen; Reveal alone tells what it is. The zero value is empty, and is
// printed the same.
type Secret struct {
	// A function, for packages that print what is private by reflection find an
	// address in it, and would find a text in a text.
	reveal func() string
}

var (
	_ fmt.Formatter          = Secret{}
	_ fmt.Stringer           = Secret{}
	_ encoding.TextMarshaler = Secret{}
	_ slog.LogValuer         = Secret{}
)

// NewSecret returns the secret that a file holds: what is in it but for the white
// space around it, which editors leave at the end of files. It has to be one word
// of printable ASCII, since it goes to places that take no more.
func NewSecret(content []byte) (Secret, error) {
	value := strings.TrimSpace(string(content))
	if value == "" {
		return Secret{}, errors.New("it is empty")
	}
	// What is wrong is not shown: it may be all but right.
	if strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return Secret{}, errors.New("it is not one word of printable ASCII")
	}
	return Secret{func() string { return value }}, nil
}

// ReadSecret returns the secret in a file.
func ReadSecret(path string) (Secret, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Secret{}, err
	}
	secret, err := NewSecret(data)
	if err != nil {
		return Secret{}, fmt.Errorf("%s: %w", path, err)
	}
	return secret, nil
}

// Reveal returns the secret itself, for the one place that needs it.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// Empty reports whether there is no secret.
func (s Secret) Empty() bool { return s.Reveal() == "" }

// Redact returns a text of others, such as the answer of a receiver, with
// "<secret>" in the place of the secret wherever it stands.
func (s Secret) Redact(text string) string {
	if s.Empty() {
		return text
	}
	return strings.ReplaceAll(text, s.Reveal(), shownSecret)
}

// Format prints "<secret>" for every verb, flag and width.
func (s Secret) Format(f fmt.State, _ rune) {
	// The printer keeps the error of its writer.
	_, _ = io.WriteString(f, shownSecret)
}

// String returns "<secret>".
func (s Secret) String() string { return shownSecret }

// MarshalText returns "<secret>", for JSON, YAML and XML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(shownSecret), nil }

// LogValue returns "<secret>".
func (s Secret) LogValue() slog.Value { return slog.StringValue(shownSecret) }

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

// shownSecret is printed in place of a Secret.
const shownSecret = "<secret>"

// Secret is a token or key. It prints, logs and encodes as "<secret>"; only Reveal
// returns its value. The zero value is empty, and prints the same.
type Secret struct {
	// Packages that print private fields by reflection find an address in a function;
	// in a string they would find the value.
	reveal func() string
}

var (
	_ fmt.Formatter          = Secret{}
	_ fmt.Stringer           = Secret{}
	_ encoding.TextMarshaler = Secret{}
	_ slog.LogValuer         = Secret{}
)

// NewSecret returns the secret in the content of a file, without surrounding white
// space, since editors leave a newline at the end. It must be one word of printable
// ASCII: it goes into URLs and headers.
func NewSecret(content []byte) (Secret, error) {
	value := strings.TrimSpace(string(content))
	if value == "" {
		return Secret{}, errors.New("it is empty")
	}
	// The error does not show the value: it may be almost right.
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

// Reveal returns the value, for the one place that needs it.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// Empty reports whether there is no secret.
func (s Secret) Empty() bool { return s.Reveal() == "" }

// Redact replaces the secret with "<secret>" in text from elsewhere, such as the
// response of a receiver.
func (s Secret) Redact(text string) string {
	if s.Empty() {
		return text
	}
	return strings.ReplaceAll(text, s.Reveal(), shownSecret)
}

// Format prints "<secret>" for every verb, flag and width.
func (s Secret) Format(f fmt.State, _ rune) {
	// The formatter keeps the error of its writer.
	_, _ = io.WriteString(f, shownSecret)
}

// String returns "<secret>".
func (s Secret) String() string { return shownSecret }

// MarshalText returns "<secret>", for JSON, YAML and XML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(shownSecret), nil }

// LogValue returns "<secret>".
func (s Secret) LogValue() slog.Value { return slog.StringValue(shownSecret) }

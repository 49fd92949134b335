package notify_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/eventuallytrue/audit/notify"
)

const hidden = "xoxb-12-of-nobody"

func newSecret(t *testing.T) notify.Secret {
	t.Helper()
	s, err := notify.NewSecret([]byte(hidden + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// holder contains a secret in every way that a struct can.
type holder struct {
	Public  notify.Secret
	private notify.Secret
	Pointer *notify.Secret
	List    []notify.Secret
	Map     map[string]notify.Secret
	Any     any
	inner   struct{ deep notify.Secret }
}

func newHolder(s notify.Secret) holder {
	h := holder{Public: s, private: s, Pointer: &s, List: []notify.Secret{s}, Map: map[string]notify.Secret{"k": s}, Any: s}
	h.inner.deep = s
	return h
}

func TestNoVerbPrintsASecret(t *testing.T) {
	s := newSecret(t)
	for _, verb := range "vTtbcdoOqxXUeEfFgGsp" {
		for _, flag := range []string{"", "+", "#", "-", " ", "0", "40", ".3", "+#30.40"} {
			for _, value := range []any{s, &s, newHolder(s), []any{s}, struct{ s notify.Secret }{s}} {
				got := fmt.Sprintf("%"+flag+string(verb), value)
				if strings.Contains(got, hidden) || strings.Contains(got, fmt.Sprintf("%x", hidden)) {
					t.Errorf("%%%s%c of %T prints it: %s", flag, verb, value, got)
				}
			}
			if got := fmt.Sprintf("%"+flag+string(verb), s); got != "<secret>" && verb != 'T' && verb != 'p' {
				t.Errorf("%%%s%c prints %q", flag, verb, got)
			}
		}
	}
	if got := fmt.Errorf("send with %w: %v", errors.New("x"), s).Error(); got != "send with x: <secret>" {
		t.Errorf("an error says %q", got)
	}
	if got := "token " + s.String(); got != "token <secret>" {
		t.Errorf("a text says %q", got)
	}
}

func TestNoEncodingContainsASecret(t *testing.T) {
	s := newSecret(t)
	h := newHolder(s)
	var texts, jsons bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&texts, nil), slog.NewJSONHandler(&jsons, nil)} {
		slog.New(handler).With("with", s).Error("failed", "secret", s, "holder", h, slog.Group("g", "in", &s))
	}
	asJSON, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	asXML, err := xml.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{
		"slog text": texts.String(), "slog JSON": jsons.String(),
		"JSON": string(asJSON), "YAML": string(asYAML), "XML": string(asXML),
	} {
		if strings.Contains(got, hidden) {
			t.Errorf("%s contains it: %s", name, got)
		}
		if !strings.Contains(got, "secret") {
			t.Errorf("%s does not show that there is a secret: %s", name, got)
		}
	}
}

func TestNewSecret(t *testing.T) {
	for _, row := range []struct {
		name, content, want, err string
	}{
		{"a word", "abc", "abc", ""},
		{"surrounding white space is trimmed", "\r\n abc\t\r\n", "abc", ""},
		{"an empty file", "", "", "it is empty"},
		{"a blank file", " \n\n", "", "it is empty"},
		{"two lines", "abc\nxyz", "", "it is not one word of printable ASCII"},
		{"a byte order mark", "\ufeffabc", "", "it is not one word of printable ASCII"},
		{"a NUL", "ab\x00c", "", "it is not one word of printable ASCII"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, err := notify.NewSecret([]byte(row.content))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != row.err || s.Reveal() != row.want || s.Empty() != (row.want == "") {
				t.Errorf("got %q, %q", s.Reveal(), got)
			}
		})
	}
}

func TestRedact(t *testing.T) {
	s := newSecret(t)
	if got := s.Redact("bad token " + hidden + ", I said " + hidden); got != "bad token <secret>, I said <secret>" {
		t.Errorf("got %q", got)
	}
	if got := (notify.Secret{}).Redact("nothing to hide"); got != "nothing to hide" {
		t.Errorf("an empty secret makes it %q", got)
	}
}

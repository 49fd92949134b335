package config_test

import (
	"testing"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
)

func TestLinkTemplates(t *testing.T) {
	for text, want := range map[string]string{
		"https://dash.example.com/f/{id}?c={cluster}&ns={namespace}": "",
		"":                               "must not be empty: omit the key instead",
		"ftp://example.com/{id}":         "must begin with http:// or https://",
		"https://{cluster}.example.com/": "has a placeholder in the host: a name of the cluster would decide where the link leads",
		"https://u:p@example.com/{id}":   "contains a user or password: remove them, they would appear in messages",
		"https://example.com/{owner}":    `"{owner}" is not a placeholder: use {cluster}, {id}, {kind}, {name}, {namespace}, {rule}`,
		"https:///{id}":                  "has no host",
		"https://example.com?x={id}":     "has a placeholder in the host: a name of the cluster would decide where the link leads",
		"https://example.com/%zz":        "not a valid URL, such as https://dashboards.example.com/findings/{id}",
	} {
		got := ""
		if err := new(config.LinkTemplate).UnmarshalText([]byte(text)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestLinksEscapeNames(t *testing.T) {
	link := config.LinkTemplate("https://dash.example.com/{name}?ns={namespace}&rule={rule}#{id}")
	got := link.To("c", "one-1", "one", rules.Subject{Kind: "Host", Namespace: "a b", Name: "../../x?y=1&z#<!channel>|é"})
	want := "https://dash.example.com/..%2F..%2Fx%3Fy%3D1%26z%23%3C%21channel%3E%7C%C3%A9?ns=a%20b&rule=one#one-1"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

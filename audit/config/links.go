package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules"
)

// Links are the pages that messages link to. The zero value is none.
type Links struct {
	Finding LinkTemplate `yaml:"finding"` // about a finding, such as a dashboard
	Rule    LinkTemplate `yaml:"rule"`    // about a rule, such as a runbook
}

// LinkTemplate is a URL with placeholders such as {id}, which stand for what a link is
// about. Their values are escaped, so that no name of a cluster can change where a link
// leads. The zero value is no link.
type LinkTemplate string

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// placeholders returns the placeholders that a template may have.
func placeholders() []string {
	return []string{"{cluster}", "{id}", "{kind}", "{name}", "{namespace}", "{rule}"}
}

// UnmarshalText reads an http or https URL with placeholders anywhere after the host.
func (l *LinkTemplate) UnmarshalText(text []byte) error {
	s := string(text)
	if s == "" {
		return errors.New("must not be empty: omit the key instead")
	}
	for _, p := range placeholder.FindAllString(s, -1) {
		if !slices.Contains(placeholders(), p) {
			return fmt.Errorf("%s is not a placeholder: use %s", shown(p), strings.Join(placeholders(), ", "))
		}
	}
	// The error of url.Parse quotes its input.
	parsed, err := url.Parse(placeholder.ReplaceAllString(s, "x"))
	switch {
	case err != nil:
		return errors.New("not a valid URL, such as https://dashboards.example.com/findings/{id}")
	case parsed.User != nil:
		return errors.New("contains a user or password: remove them, they would appear in messages")
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return errors.New("must begin with http:// or https://")
	case parsed.Hostname() == "":
		return errors.New("has no host")
	}
	afterScheme := s[strings.Index(s, "//")+2:]
	host, _, _ := strings.Cut(afterScheme, "/")
	if strings.ContainsAny(host, "{}") {
		return errors.New("has a placeholder in the host: a name of the cluster would decide where the link leads")
	}
	*l = LinkTemplate(s)
	return nil
}

// To returns the URL about a finding, or "" without a template.
func (l LinkTemplate) To(cluster, id, rule string, s rules.Subject) string {
	namespace := s.Namespace
	if s.Kind == rules.SubjectNamespace {
		namespace = s.Name
	}
	return strings.NewReplacer(
		"{cluster}", escaped(cluster), "{id}", escaped(id), "{rule}", escaped(rule),
		"{kind}", escaped(s.Kind), "{name}", escaped(s.Name), "{namespace}", escaped(namespace),
	).Replace(string(l))
}

// escaped escapes all but the unreserved characters of RFC 3986, so that the result means
// itself in a path as well as in a query.
func escaped(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

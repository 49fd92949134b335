package rulestest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/catalog"
)

// fixture is a small cluster and what a rule must find in it.
type fixture struct {
	name      string // of its file, without the ending
	config    config.Config
	want      header
	documents []document
}

// document is one manifest of a fixture.
type document struct {
	yaml []byte
	json []byte // the same
	gvk  schema.GroupVersionKind
}

// parseFixture parses the text of a fixture for a rule.
func parseFixture(name, text string, rule *rules.Rule) (*fixture, error) {
	bad := func(err error) error { return fmt.Errorf("fixture %s: %w", name, err) }
	lines := strings.Split(text, "\n")
	end := slices.IndexFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "#") })
	if end < 0 {
		return nil, bad(errors.New("no manifests"))
	}
	h, err := parseHeader(lines[:end])
	if err != nil {
		return nil, bad(err)
	}
	// A header line further down would be ignored as a comment.
	for i, line := range lines[end:] {
		if parts := headerLine.FindStringSubmatch(line); parts != nil && isHeaderWord(parts[1]) {
			return nil, bad(fmt.Errorf("line %d: %q is below the header", end+i+1, line))
		}
	}
	f := &fixture{name: name, want: h}
	if f.config, err = config.Parse([]byte(strings.Join(h.config, "\n")), "config", ruleSet(rule)); err != nil {
		return nil, bad(err)
	}
	if f.documents, err = parseDocuments(strings.Join(lines[end:], "\n")); err != nil {
		return nil, bad(err)
	}
	return f, nil
}

// isHeaderWord reports whether a word may begin a header line.
func isHeaderWord(word string) bool {
	return slices.Contains([]string{
		"title", "clean", "config", "finding", "severity", "owners", "says", "advisory", "isolation", "exposed", "unread",
	}, word)
}

// ruleSet returns the rules that a config may mention: the built-in ones and the
// one under test.
func ruleSet(rule *rules.Rule) []*rules.Rule {
	set := slices.DeleteFunc(catalog.All(), func(r *rules.Rule) bool { return r.Name == rule.Name })
	return append(set, rule)
}

// parseDocuments splits manifests into documents.
func parseDocuments(text string) ([]document, error) {
	var out []document
	in := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		data, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("split manifests: %w", err)
		}
		value, err := yaml.YAMLToJSON(data)
		if err != nil {
			return nil, fmt.Errorf("parse manifest %d: %w", len(out)+1, err)
		}
		if string(value) == "null" {
			continue // nothing but comments
		}
		var meta metav1.TypeMeta
		if err := json.Unmarshal(value, &meta); err != nil {
			return nil, fmt.Errorf("parse manifest %d: %w", len(out)+1, err)
		}
		// The items of a list could not be shuffled or thinned one by one.
		if strings.HasSuffix(meta.Kind, "List") {
			return nil, fmt.Errorf("manifest %d is a list: write its items as documents", len(out)+1)
		}
		out = append(out, document{yaml: data, json: value, gvk: meta.GroupVersionKind()})
	}
	if len(out) == 0 {
		return nil, errors.New("no manifests")
	}
	return out, nil
}

// header is the parsed comment lines of a fixture.
type header struct {
	title      string
	clean      bool
	config     []string // lines of YAML
	findings   []wantFinding
	advisories []string
	isolation  []string // rows as isolationLine formats them
	exposed    []string // rows as exposedLines formats them
	unread     []string // objects that can't be read or evaluated, such as "Pod shop/bad"
}

// wantFinding is a finding that a rule must report.
type wantFinding struct {
	line     string // subject, verdict and objects as findingLine formats them
	severity string // empty: any
	owners   string // sorted, as ownersLine formats them; empty: any
	says     []string
}

// headerLine is a line of a header: a word and, after a colon, its text.
var headerLine = regexp.MustCompile(`^# ([a-z]+)(?:: ?(.*))?$`)

// parseHeader parses the lines of a header. The error contains every mistake.
func parseHeader(lines []string) (header, error) {
	var h header
	var errs []error
	for i, line := range lines {
		parts := headerLine.FindStringSubmatch(line)
		if parts == nil {
			errs = append(errs, fmt.Errorf("line %d: %q is not a header line, such as \"# word: text\"", i+1, line))
			continue
		}
		if err := h.take(parts[1], parts[2]); err != nil {
			errs = append(errs, fmt.Errorf("line %d: %s: %w", i+1, parts[1], err))
		}
	}
	switch {
	case h.title == "":
		errs = append(errs, errors.New("no title"))
	case h.clean && len(h.findings) > 0:
		errs = append(errs, errors.New("it has both a finding and clean"))
	case !h.clean && len(h.findings) == 0:
		errs = append(errs, errors.New("it has neither a finding nor clean"))
	}
	return h, errors.Join(errs...)
}

// take adds one line.
func (h *header) take(word, text string) error {
	if (text == "") != (word == "clean") && word != "config" {
		return fmt.Errorf("unexpected text %q", text)
	}
	switch word {
	case "title":
		if h.title != "" {
			return errors.New("duplicate title")
		}
		h.title = text
	case "clean":
		h.clean = true
	case "config":
		h.config = append(h.config, text)
	case "finding":
		line, err := parseFinding(text)
		h.findings = append(h.findings, wantFinding{line: line})
		return err
	case "severity", "owners", "says":
		return h.qualify(word, text)
	case "advisory":
		h.advisories = append(h.advisories, text)
	case "unread":
		h.unread = append(h.unread, text)
	case "isolation":
		row, err := parseIsolation(text)
		h.isolation = append(h.isolation, isolationLine(row))
		return err
	case "exposed":
		fields := strings.Fields(text)
		h.exposed = append(h.exposed, strings.Join(fields, " "))
		if len(fields) != 4 {
			return fmt.Errorf("%q is not \"namespace Kind/name direction reason\"", text)
		}
	default:
		return errors.New("unknown word")
	}
	return nil
}

// qualify adds to the last finding.
func (h *header) qualify(word, text string) error {
	if len(h.findings) == 0 {
		return errors.New("no finding above it")
	}
	last := &h.findings[len(h.findings)-1]
	switch {
	case word == "says":
		last.says = append(last.says, text)
	case word == "severity" && last.severity == "":
		last.severity = text
	case word == "owners" && last.owners == "":
		last.owners = ownersLine(splitList(text))
	default:
		return errors.New("duplicate for the same finding")
	}
	return nil
}

// parseFinding parses "SUBJECT is VERDICT <- OBJECT, OBJECT" into the form of
// findingLine.
func parseFinding(text string) (string, error) {
	what, objects, ok := strings.Cut(text, " <- ")
	at := strings.LastIndex(what, " is ")
	if !ok || at < 0 {
		return text, fmt.Errorf("%q is not \"subject is verdict <- objects\"", text)
	}
	return findingLine(what[:at], what[at+len(" is "):], splitList(objects)), nil
}

// parseIsolation parses the row of a namespace.
func parseIsolation(text string) (rules.Isolation, error) {
	var row rules.Isolation
	seen := map[string]bool{}
	for _, field := range strings.Fields(text) {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "ns":
			row.Namespace = value
		case "ingress":
			row.Ingress = rules.IsolationState(value)
		case "egress":
			row.Egress = rules.IsolationState(value)
		case "open":
			row.Open = value
		case "scope":
			row.Scope = value
		case "exempt":
			row.Exempt = value == "yes"
		default:
			return row, fmt.Errorf("unknown key %q", key)
		}
		if seen[key] || value == "" {
			return row, fmt.Errorf("%s is empty or duplicated", key)
		}
		seen[key] = true
	}
	for _, key := range []string{"ns", "ingress", "egress", "open"} {
		if !seen[key] {
			return row, fmt.Errorf("no %s", key)
		}
	}
	return row, nil
}

// splitList splits a list at its commas and sorts it.
func splitList(text string) []string {
	list := strings.Split(text, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	slices.Sort(list)
	return list
}

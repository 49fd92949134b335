package rulestest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// fixture is a small cluster and what a rule must say of it.
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
	// A header line further down would be taken for a comment and hold nobody
	// to anything.
	for i, line := range lines[end:] {
		if parts := headerLine.FindStringSubmatch(line); parts != nil && isHeaderWord(parts[1]) {
			return nil, bad(fmt.Errorf("line %d: %q stands behind the header", end+i+1, line))
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

// isHeaderWord reports whether a header may hold lines of the word.
func isHeaderWord(word string) bool {
	return slices.Contains([]string{
		"title", "clean", "config", "finding", "severity", "owners", "says", "advisory", "isolation", "exposed",
	}, word)
}

// ruleSet returns the rules that a config is read for: all of them and the one
// under test, which may be none of them.
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
		// The items of a list could not be shuffled or thinned out one by one.
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

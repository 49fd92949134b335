package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/config"
)

func TestKeysAreExplained(t *testing.T) {
	for _, key := range config.Keys() {
		switch {
		case key.Doc == "":
			t.Errorf("%s has no line in keyDocs", key.Path)
		case key.Type == "":
			t.Errorf("%s is of a type that typeName has no words for", key.Path)
		case len(key.Doc) > 120 || strings.HasSuffix(key.Doc, ".") || strings.Contains(key.Doc, "\n"):
			t.Errorf("%s: the doc is longer than a line, or a sentence: %s", key.Path, key.Doc)
		}
	}
}

// Default values are shown as a file spells them: a file that
// holds them is the default config.
func TestDefaultsOfKeysAreThoseOfAnEmptyFile(t *testing.T) {
	var notified []string
	for _, key := range config.Keys() {
		if key.Default != "" && !strings.Contains(key.Path, "[]") && !strings.Contains(key.Path, "NAME") && key.Path != "cluster" {
			notified = append(notified, key.Path)
			section, name, nested := strings.Cut(key.Path, ".")
			text := key.Path + ": " + key.Default
			if nested {
				text = section + ": {" + name + ": " + key.Default + "}"
			}
			if diff := cmp.Diff(config.Default(), *parse(t, text)); diff != "" {
				t.Errorf("%s is not the default (-want +got):\n%s", text, diff)
			}
		}
	}
	for _, path := range []string{"owners.keys", "findings.keepResolved", "limits.newFindings", "slack.remindAfter"} {
		if !slices.Contains(notified, path) {
			t.Errorf("the default of %s is not shown", path)
		}
	}
}

// What errors call unknown and what is explained must be the same keys.
func TestEveryExplainedKeyIsKnown(t *testing.T) {
	for _, key := range config.Keys() {
		text := ""
		closing := ""
		path := strings.ReplaceAll(key.Path, "NAME", "default-deny-present")
		for part := range strings.SplitSeq(path, ".") {
			name, listed := strings.CutSuffix(part, "[]")
			text += name + ": "
			switch {
			case listed:
				text, closing = text+"[{", "}]"+closing
			default:
				text, closing = text+"{", "}"+closing
			}
		}
		// The value is wrong for all of them, which is said only of a known key.
		_, err := config.Parse([]byte(text+closing), "c.yaml", ruleSet())
		if err != nil && strings.Contains(err.Error(), "unknown key") {
			t.Errorf("%s is explained and unknown: %v", key.Path, err)
		}
	}
}

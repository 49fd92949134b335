package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/notify/report"
)

// remark is a comment in the estate that says what a rule makes of the object
// below it.
type remark struct {
	word, rule string // FAULT, ADVISORY or LOOK-ALIKE
	detail     string // of the subject: Ingress or Egress, where the comment names one
	object     metav1.PartialObjectMetadata
}

var remarkForm = regexp.MustCompile(`(?m)^# (FAULT|ADVISORY|LOOK-ALIKE) \(([a-z-]+)(?:, (Ingress|Egress|Ingress and Egress))?\)`)

// TestEstateCommentsAreTrue holds each remark against what a sweep says, so that
// nobody learns from the estate what is not so.
func TestEstateCommentsAreTrue(t *testing.T) {
	r := sweep(t, exitFindings, "--from", estateDir)
	remarks := readRemarks(t)
	for _, word := range []string{"FAULT", "ADVISORY", "LOOK-ALIKE"} {
		if !slices.ContainsFunc(remarks, func(m remark) bool { return m.word == word }) {
			t.Errorf("no remark of the form %s (RULE)", word)
		}
	}
	for _, m := range remarks {
		list := r.Findings
		if m.word == "ADVISORY" {
			list = nil
			for _, a := range r.Advisories {
				list = append(list, report.Finding{Rule: a.Rule, Subject: a.Subject, Objects: a.Objects})
			}
		}
		if concerned := slices.ContainsFunc(list, m.concerns); concerned == (m.word == "LOOK-ALIKE") {
			t.Errorf("%s (%s, %s) above %s %s/%s is not so", m.word, m.rule, m.detail,
				m.object.Kind, m.object.Namespace, m.object.Name)
		}
	}
}

// concerns reports whether a finding is about the object of the remark or, for
// rules about namespaces, about the namespace that it is in.
func (m remark) concerns(f report.Finding) bool {
	if f.Rule != m.rule {
		return false
	}
	if f.Subject.Kind == "Namespace" {
		return f.Subject.Name == namespaceOf(m.object) &&
			(m.detail == "" || strings.Contains(m.detail, f.Subject.Detail))
	}
	return slices.ContainsFunc(f.Objects, func(o report.Object) bool {
		return o.Kind == m.object.Kind && o.Namespace == m.object.Namespace && o.Name == m.object.Name
	})
}

func namespaceOf(o metav1.PartialObjectMetadata) string {
	if o.Kind == "Namespace" {
		return o.Name
	}
	return o.Namespace
}

// readRemarks reads the remarks of the estate. One at the head of a file is on
// the first object.
func readRemarks(t *testing.T) []remark {
	t.Helper()
	paths, err := filepath.Glob(estateDir + "/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []remark
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var above []byte
		for document := range bytes.SplitSeq(data, []byte("\n---\n")) {
			above = append(above, document...)
			var object metav1.PartialObjectMetadata
			if err := yaml.Unmarshal(document, &object); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if object.Name == "" {
				continue
			}
			for _, found := range remarkForm.FindAllSubmatch(above, -1) {
				out = append(out, remark{string(found[1]), string(found[2]), string(found[3]), object})
			}
			above = nil
		}
	}
	return out
}

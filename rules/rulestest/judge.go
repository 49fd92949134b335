package rulestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/audit/manifests"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// now is the time of every sweep here. Fixtures may hold exceptions, which
// expire.
func now() time.Time { return time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC) }

// read reads manifests as a sweep with --from does. Whatever the source could
// not read is an error.
func (f *fixture) read(rule *rules.Rule, text []byte) (*snapshot.Snapshot, error) {
	src := manifests.Source{
		Paths: []string{"-"}, Stdin: bytes.NewReader(text),
		OwnerKeys: f.config.Owners.Keys, HostSources: f.config.EnabledHostSources(),
	}
	var b snapshot.Builder
	reading, err := src.Read(context.Background(), audit.Needs([]*rules.Rule{rule}), &b)
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	var errs []error
	for _, p := range reading.Problems {
		errs = append(errs, fmt.Errorf("read manifests: %s: %s", p.Where, p.Reason))
	}
	for _, p := range reading.Ignored {
		// Kinds of a foreign group are there to be passed over; one of a group
		// that the rule reads is misspelt or superfluous.
		if slices.ContainsFunc(rule.Needs, func(k snapshot.Kind) bool { return k.Group() == p.Group }) && !partly(p) {
			errs = append(errs, fmt.Errorf("read manifests: the rule does not read %s of %s/%s", p.Kind, p.Group, p.Version))
		}
	}
	return b.Freeze(), errors.Join(errs...)
}

// text returns the manifests of the fixture in the given order of its documents.
func (f *fixture) text(order []int) []byte {
	var out bytes.Buffer
	for _, i := range order {
		out.Write(f.documents[i].yaml)
		out.WriteString("\n---\n")
	}
	return out.Bytes()
}

// inOrder returns the order in which the documents stand in the fixture.
func (f *fixture) inOrder() []int {
	order := make([]int, len(f.documents))
	for i := range order {
		order[i] = i
	}
	return order
}

// judge lets the rule judge a snapshot. A rule that errs or panics is an error.
func (f *fixture) judge(rule *rules.Rule, snap *snapshot.Snapshot) (audit.Evaluation, error) {
	ev := audit.Evaluate(snap, []*rules.Rule{rule}, &f.config, now(), nil)
	if o := ev.Rules[0]; o.Status != audit.RuleRan {
		return ev, fmt.Errorf("the rule %s: %s", o.Status, o.Reason)
	}
	return ev, nil
}

// judgeText reads manifests and lets the rule judge them.
func (f *fixture) judgeText(rule *rules.Rule, text []byte) (audit.Evaluation, error) {
	snap, err := f.read(rule, text)
	if err != nil {
		return audit.Evaluation{}, err
	}
	return f.judge(rule, snap)
}

// partly reports whether of a kind that was passed over some objects matter.
func partly(p audit.IgnoredKind) bool {
	return slices.ContainsFunc(ingest.Customs(), func(c ingest.Custom) bool {
		return c.Kind.Group() == p.Group && c.Object == p.Kind && len(c.Only) > 0
	})
}

// isOf reports whether an object's type belongs to a kind. To that of host
// sources belongs whatever a ready-made one is for.
func isOf(gvk schema.GroupVersionKind, kind snapshot.Kind) bool {
	if kind != snapshot.HostSources {
		return kindOf(gvk) == kind
	}
	return slices.ContainsFunc(hostsource.BuiltIn(), func(s hostsource.Source) bool {
		return s.Kind.Group() == gvk.Group && s.Object == gvk.Kind
	})
}

// kindOf returns the kind of snapshot that an object's type belongs to.
func kindOf(gvk schema.GroupVersionKind) snapshot.Kind {
	for _, c := range ingest.Customs() {
		if c.Kind.Group() == gvk.Group && c.Object == gvk.Kind {
			return c.Kind
		}
	}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return snapshot.KindOf(gvk.Group, plural.Resource)
}

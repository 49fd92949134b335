package rulestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/audit/manifests"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// checkSet returns what is wrong with a rule and its fixtures as a whole.
func checkSet(rule *rules.Rule, fixtures []*fixture) []error {
	return collect(
		rules.Validate([]*rules.Rule{rule}),
		checkBothOutcomes(fixtures),
		checkKinds(rule, fixtures),
		checkReads(rule, fixtures),
		checkBare(rule, fixtures),
	)
}

// checkFixture returns what is wrong with a rule according to one fixture.
func checkFixture(rule *rules.Rule, f *fixture) []error {
	ev, err := f.evaluateText(rule, f.text(f.inOrder()))
	if err != nil {
		// The other checks would only repeat it.
		return []error{err}
	}
	return collect(
		f.want.compare(rule, ev),
		checkFindings(rule, ev),
		checkDeterministic(rule, f, ev),
		checkFrozen(rule, f),
		checkTails(rule, f),
		checkSparse(rule, f),
	)
}

func collect(all ...error) []error {
	return slices.DeleteFunc(all, func(err error) bool { return err == nil })
}

// checkBothOutcomes requires a fixture with a finding and one without, and unique
// titles.
func checkBothOutcomes(fixtures []*fixture) error {
	var errs []error
	findings, clean := 0, 0
	titles := map[string]string{}
	for _, f := range fixtures {
		if f.want.clean {
			clean++
		} else {
			findings++
		}
		if other, ok := titles[f.want.title]; ok {
			errs = append(errs, fmt.Errorf("fixtures %s and %s have the same title", other, f.name))
		}
		titles[f.want.title] = f.name
	}
	if findings == 0 {
		errs = append(errs, errors.New("no fixture has a finding"))
	}
	if clean == 0 {
		errs = append(errs, errors.New("no fixture is clean"))
	}
	return errors.Join(errs...)
}

// checkKinds requires an object of each declared kind somewhere in the fixtures.
func checkKinds(rule *rules.Rule, fixtures []*fixture) error {
	var errs []error
	for _, kind := range rule.Needs {
		if _, ok := exampleOf(kind, fixtures); !ok {
			errs = append(errs, fmt.Errorf("no fixture has an object of %s, which the rule declares", kind))
		}
	}
	return errors.Join(errs...)
}

// checkReads requires that the rule reads each kind that it declares in some
// fixture. Reading a kind that it does not declare panics.
func checkReads(rule *rules.Rule, fixtures []*fixture) error {
	read := map[snapshot.Kind]bool{}
	spied := *rule
	spied.Run = func(in rules.Input) (rules.Result, error) {
		defer func() {
			for _, kind := range in.View.Asked() {
				read[kind] = true
			}
		}()
		return rule.Run(in)
	}
	for _, f := range fixtures {
		if _, err := f.evaluateText(&spied, f.text(f.inOrder())); err != nil {
			return fmt.Errorf("fixture %s: %w", f.name, err)
		}
	}
	var errs []error
	for _, kind := range rule.Needs {
		// Faults have owners, who follow from Namespaces.
		if !read[kind] && !rule.AfterOthers {
			errs = append(errs, fmt.Errorf("the rule declares %s and never reads it", kind))
		}
	}
	return errors.Join(errs...)
}

// checkFindings checks what all code that handles findings relies on.
func checkFindings(rule *rules.Rule, ev audit.Evaluation) error {
	var errs []error
	seen := map[string]bool{}
	for _, f := range ev.Findings {
		bad := func(what string) { errs = append(errs, fmt.Errorf("finding %s: %s", f.Subject, what)) }
		if seen[f.ID] {
			bad("another finding has this subject")
		}
		seen[f.ID] = true
		if f.Subject.Kind != rule.Subject && rule.Subject != rules.SubjectObject {
			bad(fmt.Sprintf("its subject is a %s, but the rule declares %s", f.Subject.Kind, rule.Subject))
		}
		if f.Verdict == "" || f.Message == "" || f.Remedy == "" || len(f.Owners) == 0 || len(f.Objects) == 0 {
			bad("it has no verdict, message, remedy, owner or object")
		}
		if text := f.Message + f.Cause + f.Remedy; strings.Contains(text, "  ") || strings.Contains(text, "%!") {
			bad("its text has a double space or a formatting error: " + text)
		}
	}
	return errors.Join(errs...)
}

// checkDeterministic requires the same result for any order of the manifests.
func checkDeterministic(rule *rules.Rule, f *fixture, want audit.Evaluation) error {
	for seed := range uint64(6) {
		order := f.inOrder()
		random := rand.New(rand.NewPCG(seed, 0))
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		got, err := f.evaluateText(rule, f.text(order))
		if err != nil {
			return fmt.Errorf("with documents shuffled: %w", err)
		}
		if diff := diffEvaluations(want, got); diff != "" {
			return fmt.Errorf("the result changes when documents are shuffled (seed %d):\n%s", seed, diff)
		}
	}
	return nil
}

func diffEvaluations(a, b audit.Evaluation) string {
	return cmp.Diff(a.Findings, b.Findings) + cmp.Diff(a.Advisories, b.Advisories) + cmp.Diff(a.Isolation, b.Isolation)
}

// checkFrozen requires that the rule does not change the snapshot.
func checkFrozen(rule *rules.Rule, f *fixture) error {
	text := f.text(f.inOrder())
	used, err := f.read(rule, text)
	if err != nil {
		return err
	}
	fresh, err := f.read(rule, text)
	if err != nil {
		return err
	}
	if _, err := f.evaluate(rule, used); err != nil {
		return err
	}
	if !reflect.DeepEqual(used, fresh) {
		return errors.New("the rule changes the snapshot")
	}
	return nil
}

// checkTails requires that the tail of a text is its end, and that a rule without
// affected kinds has none.
func checkTails(rule *rules.Rule, f *fixture) error {
	var errs []error
	spied := *rule
	spied.Run = func(in rules.Input) (rules.Result, error) {
		res, err := rule.Run(in)
		for _, v := range res.Violations {
			if !strings.HasSuffix(v.Message, v.MessageTail) || !strings.HasSuffix(v.Cause, v.CauseTail) {
				errs = append(errs, fmt.Errorf("violation %s: a tail is not the end of its text", v.Subject))
			}
			if len(rule.Affected) == 0 && v.MessageTail+v.CauseTail != "" {
				errs = append(errs, fmt.Errorf("violation %s: it has a tail, but the rule declares no affected kinds", v.Subject))
			}
		}
		return res, err
	}
	_, err := f.evaluateText(&spied, f.text(f.inOrder()))
	return errors.Join(append(errs, err)...)
}

// now is the time of every sweep in tests. Fixtures may contain exceptions, which
// expire.
func now() time.Time { return time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC) }

// read reads manifests as a sweep with --from does. Anything that the source could
// not read is an error.
func (f *fixture) read(rule *rules.Rule, text []byte) (*snapshot.Snapshot, error) {
	src := manifests.Source{
		Paths: []string{"-"}, Stdin: bytes.NewReader(text),
		OwnerKeys: f.config.Owners.Keys, HostSources: f.config.KnownHostSources(),
	}
	var b snapshot.Builder
	reading, err := src.Read(context.Background(), audit.Needs(runWith(rule)), &b)
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	var errs []error
	for _, p := range reading.Problems {
		errs = append(errs, fmt.Errorf("read manifests: %s: %s", p.Where, p.Reason))
	}
	for _, p := range reading.Ignored {
		// Kinds of other groups may be there to be ignored, but an ignored kind of a
		// group that the rule reads is misspelled or superfluous.
		if slices.ContainsFunc(rule.Needs, func(k snapshot.Kind) bool { return k.Group() == p.Group }) && !onlySome(p) {
			errs = append(errs, fmt.Errorf("read manifests: the rule does not read %s of %s/%s", p.Kind, p.Group, p.Version))
		}
	}
	snap := b.Freeze()
	for _, fault := range snap.Faults() {
		// A change to a manifest may give its object another name.
		if len(f.want.unread) == 0 {
			errs = append(errs, fmt.Errorf("read manifests: %s: %s", fault.Ref, fault.Reason))
		}
	}
	return snap, errors.Join(errs...)
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

// inOrder returns the order of the documents in the fixture.
func (f *fixture) inOrder() []int {
	order := make([]int, len(f.documents))
	for i := range order {
		order[i] = i
	}
	return order
}

// evaluate runs the rule on a snapshot. A rule that fails or panics is an error.
func (f *fixture) evaluate(rule *rules.Rule, snap *snapshot.Snapshot) (audit.Evaluation, error) {
	ev := audit.Evaluate(snap, runWith(rule), &f.config, now(), nil)
	for _, o := range ev.Rules {
		if o.Status != audit.RuleRan {
			return ev, fmt.Errorf("the rule %s: %s", o.Status, o.Reason)
		}
	}
	if rule.AfterOthers {
		ev.Findings = slices.DeleteFunc(ev.Findings, func(f audit.Finding) bool { return f.Rule != rule.Name })
		ev.Isolation = nil
	}
	return ev, nil
}

// runWith returns the rules to run for the result of a rule: itself, and those that come
// before it.
func runWith(rule *rules.Rule) []*rules.Rule {
	if rule.AfterOthers {
		return ruleSet(rule)
	}
	return []*rules.Rule{rule}
}

// evaluateText reads manifests and runs the rule on them.
func (f *fixture) evaluateText(rule *rules.Rule, text []byte) (audit.Evaluation, error) {
	snap, err := f.read(rule, text)
	if err != nil {
		return audit.Evaluation{}, err
	}
	return f.evaluate(rule, snap)
}

// onlySome reports whether only some objects of an ignored kind matter.
func onlySome(p audit.IgnoredKind) bool {
	return slices.ContainsFunc(ingest.Customs(), func(c ingest.Custom) bool {
		return c.Kind.Group() == p.Group && c.Object == p.Kind && len(c.Only) > 0
	})
}

// isOf reports whether an object's type belongs to a kind. The types of built-in
// host sources belong to the kind of host sources.
func isOf(gvk schema.GroupVersionKind, kind snapshot.Kind) bool {
	if kind != snapshot.HostSources {
		return kindOf(gvk) == kind
	}
	return slices.ContainsFunc(hostsource.BuiltIn(), func(s hostsource.Source) bool {
		return s.Kind.Group() == gvk.Group && s.Object == gvk.Kind
	})
}

// kindOf returns the snapshot kind of an object's type.
func kindOf(gvk schema.GroupVersionKind) snapshot.Kind {
	for _, c := range ingest.Customs() {
		if c.Kind.Group() == gvk.Group && c.Object == gvk.Kind {
			return c.Kind
		}
	}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return snapshot.KindOf(gvk.Group, plural.Resource)
}

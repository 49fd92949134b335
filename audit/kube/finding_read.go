package kube

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// ErrNewer is a stored finding in a form that this program does not know: with a
// state, a field or an identity that it would destroy if it wrote the finding.
var ErrNewer = errors.New("it is in a form that only another program understands")

// rawFinding is a finding of which only the metadata is understood already.
type rawFinding struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   metav1.ObjectMeta `json:"metadata"`
	Spec       json.RawMessage   `json:"spec"`
	Status     json.RawMessage   `json:"status"`
}

// readFinding reads a finding as the API server sent it. The error wraps ErrNewer
// where it is in another form than this program writes.
func readFinding(raw *rawFinding) (*v1alpha1.Finding, error) {
	f := &v1alpha1.Finding{
		TypeMeta:   metav1.TypeMeta{APIVersion: raw.APIVersion, Kind: raw.Kind},
		ObjectMeta: raw.Metadata,
	}
	if err := strict(raw.Spec, &f.Spec); err != nil {
		return nil, fmt.Errorf("%w: spec: %w", ErrNewer, err)
	}
	switch string(bytes.TrimSpace(raw.Status)) {
	case "", "null", "{}":
		return f, known(f)
	}
	f.Status = &v1alpha1.FindingStatus{}
	if err := strict(raw.Status, f.Status); err != nil {
		return nil, fmt.Errorf("%w: status: %w", ErrNewer, err)
	}
	return f, known(f)
}

// known returns an error that wraps ErrNewer if a finding that decodes is yet another
// than this program writes.
func known(f *v1alpha1.Finding) error {
	switch {
	case f.APIVersion != v1alpha1.GroupVersion().String() || f.Kind != v1alpha1.Kind:
		return fmt.Errorf("%w: it is a %q of %q", ErrNewer, f.Kind, f.APIVersion)
	case !ours(f.Name, f.Spec):
		return fmt.Errorf("%w: the name is not that of its rule and subject", ErrNewer)
	case f.Status == nil:
		return nil
	}
	switch f.Status.State {
	case v1alpha1.StatePending, v1alpha1.StateOpen, v1alpha1.StateResolved:
		return nil
	}
	return fmt.Errorf("%w: its state is %q", ErrNewer, f.Status.State)
}

// strict decodes JSON. A field that is not known is an error, since it would be
// lost when the object is written again.
func strict(data []byte, into any) error {
	unknown, err := kjson.UnmarshalStrict(data, into)
	return errors.Join(append(unknown, err)...)
}

var hashSuffix = regexp.MustCompile(`^-[0-9a-f]{16}$`)

// ours reports whether a name is that of a finding of this rule and subject. Of a
// subject that was shortened to fit, that cannot be told but for the rule.
func ours(name string, spec v1alpha1.FindingSpec) bool {
	s := subject(spec.Subject)
	if name == rules.ID(spec.Rule, s) {
		return true
	}
	hash, ok := strings.CutPrefix(name, spec.Rule)
	return ok && hashSuffix.MatchString(hash) && shortened(s)
}

// shortened reports whether Fit may have changed a subject.
func shortened(s rules.Subject) bool {
	for _, part := range []string{s.Kind, s.Namespace, s.Name, s.Detail} {
		if strings.HasSuffix(part, ellipsis) || strings.ContainsRune(part, utf8.RuneError) {
			return true
		}
	}
	return false
}

// newRecord makes a record of a finding; of one without status a bare one.
func newRecord(f *v1alpha1.Finding) audit.Record {
	r := audit.Record{Finding: audit.Finding{ID: f.Name, Rule: f.Spec.Rule, Subject: subject(f.Spec.Subject)}}
	s := f.Status
	if s == nil {
		return r
	}
	r.State, r.Reason = audit.State(s.State), audit.Reason(s.Reason)
	// One that is not known is as good as none.
	_ = r.Severity.UnmarshalText([]byte(s.Severity))
	r.Verdict, r.Message, r.Cause, r.Remedy = s.Verdict, s.Message, s.Cause, s.Remedy
	r.Owners, r.Objects = slices.Grow(r.Owners, len(s.Owners)), slices.Grow(r.Objects, len(s.Objects))
	for _, o := range s.Owners {
		r.Owners = append(r.Owners, string(o))
	}
	for _, o := range s.Objects {
		r.Objects = append(r.Objects, rules.Object{
			Ref:   snapshot.Ref{Group: o.Group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name},
			Owner: o.Owner, Created: readTime(o.CreatedAt), Reason: o.Reason, Detail: o.Detail,
		})
	}
	r.MoreObjects = int(s.MoreObjects)
	r.FirstSeen, r.OpenedAt, r.ResolvedAt = readTime(s.FirstSeen), readTime(s.OpenedAt), readTime(s.ResolvedAt)
	r.Sweeps, r.Reopened, r.Storm = int(s.Sweeps), int(s.Reopened), s.Storm
	r.Notifications = readTold(s.Notifications)
	return r
}

func subject(s v1alpha1.Subject) rules.Subject {
	return rules.Subject{Kind: s.Kind, Namespace: s.Namespace, Name: s.Name, Detail: s.Detail}
}

func readTime(t *metav1.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

package store

import (
	"errors"
	"fmt"
	"reflect"
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

// ErrNewer is a stored finding in a form that this program does not know: it has a
// state, a field or an identity that would be lost if this program wrote the finding.
var ErrNewer = errors.New("only another version of audit understands it")

// storedFinding is a finding as the API server sends it, without most of its metadata.
type storedFinding struct {
	APIVersion string                  `json:"apiVersion"`
	Kind       string                  `json:"kind"`
	Metadata   metadata                `json:"metadata"`
	Spec       v1alpha1.FindingSpec    `json:"spec"`
	Status     *v1alpha1.FindingStatus `json:"status"`
}

// metadata is the part of an object's metadata that a record needs. To decode who
// manages which field would be most of the work. Fields that are not known are ignored:
// no write of a finding changes them.
type metadata struct {
	Name            string            `json:"name"`
	ResourceVersion string            `json:"resourceVersion"`
	Labels          map[string]string `json:"labels"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *metadata) UnmarshalJSON(data []byte) error {
	type lenient metadata // without this method
	return kjson.UnmarshalCaseSensitivePreserveInts(data, (*lenient)(m))
}

// decode decodes a finding. The error wraps ErrNewer if the finding has another form
// than this program writes, such as an unknown field, which would be lost when the
// object is written again; then the finding has at least its metadata.
//
// It takes about 50 µs, which is 50 ms of a sweep with 1,000 findings. To decode a page
// of findings at once would take half of that, but would need a second decoder for pages
// with a finding that is not known.
func decode(data []byte) (*v1alpha1.Finding, error) {
	var s storedFinding
	unknown, err := kjson.UnmarshalStrict(data, &s)
	if err := errors.Join(append(unknown, err)...); err != nil {
		var head struct {
			Metadata metadata `json:"metadata"`
		}
		if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &head); err != nil {
			return nil, fmt.Errorf("decode finding: %w", err)
		}
		return &v1alpha1.Finding{ObjectMeta: head.Metadata.object()}, fmt.Errorf("%w: %w", ErrNewer, err)
	}
	// An empty status says no more than none. A status that says anything has a state.
	if s.Status != nil && reflect.ValueOf(*s.Status).IsZero() {
		s.Status = nil
	}
	f := &v1alpha1.Finding{
		TypeMeta:   metav1.TypeMeta{APIVersion: s.APIVersion, Kind: s.Kind},
		ObjectMeta: s.Metadata.object(), Spec: s.Spec, Status: s.Status,
	}
	return f, known(f)
}

func (m *metadata) object() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: m.Name, ResourceVersion: m.ResourceVersion, Labels: m.Labels}
}

// known returns an error that wraps ErrNewer if a finding that can be decoded still is
// not one that this program writes.
func known(f *v1alpha1.Finding) error {
	switch {
	case f.APIVersion != v1alpha1.GroupVersion().String() || f.Kind != v1alpha1.Kind:
		return fmt.Errorf("%w: it is a %q of %q", ErrNewer, f.Kind, f.APIVersion)
	case !named(f.Name, f.Spec):
		return fmt.Errorf("%w: the name does not match the rule and the subject", ErrNewer)
	case f.Status == nil:
		return nil
	}
	switch f.Status.State {
	case v1alpha1.StatePending, v1alpha1.StateOpen, v1alpha1.StateResolved:
		return nil
	}
	return fmt.Errorf("%w: its state is %q", ErrNewer, f.Status.State)
}

var hashSuffix = regexp.MustCompile(`^-[0-9a-f]{16}$`)

// named reports whether a name is that of a finding of this rule and subject. If the
// subject was shortened to fit, only the rule can be compared.
func named(name string, spec v1alpha1.FindingSpec) bool {
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

// newRecord makes a record of a finding. Without a status it is bare.
func newRecord(f *v1alpha1.Finding) audit.Record {
	r := audit.Record{Finding: audit.Finding{ID: f.Name, Rule: f.Spec.Rule, Subject: subject(f.Spec.Subject)}}
	s := f.Status
	if s == nil {
		return r
	}
	r.State, r.Reason = audit.State(s.State), audit.Reason(s.Reason)
	// An unknown severity counts as none.
	_ = r.Severity.UnmarshalText([]byte(s.Severity))
	r.Culprit = s.Culprit
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
	r.MoreObjects, r.MoreOwners = int(s.MoreObjects), int(s.MoreOwners)
	r.FirstSeen, r.OpenedAt, r.ResolvedAt = readTime(s.FirstSeen), readTime(s.OpenedAt), readTime(s.ResolvedAt)
	r.Sweeps, r.Reopened, r.Storm = int(s.Sweeps), int(s.Reopened), s.Storm
	r.Notifications = readNotifications(s.Notifications)
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

func readNotifications(list []v1alpha1.Notification) []audit.Notification {
	var out []audit.Notification
	for _, m := range list {
		out = append(out, audit.Notification{
			Sender: m.Sender, Owner: string(m.Owner), Pending: audit.Event(m.Pending),
			Claim: audit.Claim{By: m.ClaimedBy, At: readTime(m.ClaimedAt), WithLease: m.ClaimedWithLease},
			Last:  audit.Event(m.Last), At: readTime(m.At),
			Message: audit.MessageRef{Channel: m.Channel, Message: m.Message}, Error: m.Error,
			Attempt: audit.Attempt{ID: m.AttemptID, Count: int(m.Attempts), At: readTime(m.AttemptedAt)},
		})
	}
	return out
}

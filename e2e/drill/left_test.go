package drill

import (
	"slices"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
)

// What a publisher leaves behind that was killed.
const (
	bareLeft     = "a finding without a status"
	tornLeft     = "a finding whose labels are newer than its status"
	dueLeft      = "something to be told that nobody has taken"
	takenLeft    = "something to be told that the dead has taken"
	detailsLeft  = "details to be told beneath a message that is marked"
	storedLeft   = "a message whose answer did not come and that is not marked"
	answeredLeft = "a message that was answered and is not marked"
	// Not left behind, but done by the fresh run.
	repeated = "a message that is repeated"
)

// count notes what a run left behind that was killed at a step, and what the next one
// repeated of it.
func (w *crashes) count(t *testing.T, left world, at step, now world) {
	seen := map[string]bool{string(at): true}
	for _, f := range left.findings {
		switch {
		case f.Status == nil:
			seen[bareLeft] = true
			continue
		case torn(f):
			seen[tornLeft] = true
		}
		for _, m := range f.Status.Notifications {
			seen[dueLeft] = seen[dueLeft] || m.Pending != "" && m.ClaimedBy == ""
			seen[takenLeft] = seen[takenLeft] || m.Pending != "" && m.ClaimedBy != ""
			seen[detailsLeft] = seen[detailsLeft] || m.Pending == "details"
		}
	}
	for n := range heardIn(t, left.messages) {
		if unmarked(left.findings, n) {
			seen[storedLeft] = seen[storedLeft] || at == beforeAnswer
			seen[answeredLeft] = seen[answeredLeft] || at == beforeWrite
		}
	}
	for _, times := range heardIn(t, now.messages) {
		seen[repeated] = seen[repeated] || times > 1
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for what, is := range seen {
		if is {
			w.left[what]++
		}
	}
}

// torn reports whether the labels of a finding, which are written first, tell of
// another state or of other owners than its status.
func torn(f v1alpha1.Finding) bool {
	owners := 0
	for key := range f.Labels {
		if strings.HasPrefix(key, "owner.") {
			owners++
		}
	}
	return f.Labels["state"] != string(f.Status.State) || owners != len(f.Status.Owners)
}

// summary is a line on each finding, with what somebody may have left half done.
func summary(findings []v1alpha1.Finding) []string {
	var lines []string
	for _, f := range findings {
		state := "bare"
		if f.Status != nil {
			state = string(f.Status.State)
		}
		lines = append(lines, f.Spec.Subject.Name+" is "+state+", labelled "+f.Labels["state"])
	}
	slices.Sort(lines)
	return lines
}

package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/eventuallytrue/audit/audit"
)

// The labels that findings are selected by. Other labels of a finding are somebody
// else's and stay.
const (
	ruleLabel     = "rule"
	severityLabel = "severity"
	stateLabel    = "state"
	ownerLabel    = "owner" // of a finding that has one owner
	// ownersLabel begins the label that a finding has for each of its owners,
	// however many: one label cannot hold several.
	ownersLabel = "owner.eventuallytrue.dev/"
)

// OwnerLabel returns the form in which labels of findings name an owner, for
// selectors. It is the owner's name where that can be a label; otherwise it is the
// letters that can, and a hash, so that no two owners have the same form.
func OwnerLabel(owner string) string {
	// A name that ends as the hash of another one does gets a hash too: else one
	// owner could be made to look like another.
	if owner != "" && len(validation.IsValidLabelValue(owner)) == 0 && !hashEnd.MatchString(owner) {
		return owner
	}
	sum := sha256.Sum256([]byte(owner))
	hash := hex.EncodeToString(sum[:8])
	letters := strings.Trim(unfit.ReplaceAllString(owner, "-"), "-._")
	letters = strings.TrimRight(letters[:min(len(letters), validation.LabelValueMaxLength-len(hash)-1)], "-._")
	if letters == "" {
		letters = "owner"
	}
	return letters + "-" + hash
}

var (
	unfit   = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
	hashEnd = regexp.MustCompile(`-[0-9a-f]{16}$`)
)

// labels are the labels that a record that fits is selected by.
func labels(r audit.Record) map[string]string {
	l := map[string]string{ruleLabel: r.Rule, stateLabel: string(r.State)}
	if r.Severity != 0 {
		l[severityLabel] = r.Severity.String()
	}
	for _, o := range r.Owners {
		label := OwnerLabel(o)
		l[ownersLabel+label] = "true"
		if len(r.Owners) == 1 {
			l[ownerLabel] = label
		}
	}
	return l
}

// labelled reports whether of this program's labels an object has those wanted, and
// no others.
func labelled(have, want map[string]string) bool {
	own := 0
	for key, value := range have {
		if ownLabel(key) {
			own++
			if is, ok := want[key]; !ok || is != value {
				return false
			}
		}
	}
	return own == len(want)
}

// ownLabel reports whether a label is one that this program sets.
func ownLabel(key string) bool {
	switch key {
	case ruleLabel, severityLabel, stateLabel, ownerLabel:
		return true
	}
	return strings.HasPrefix(key, ownersLabel)
}

// relabelled returns the labels that an object has to have: the given ones, and
// those of its own that are somebody else's.
func relabelled(have, want map[string]string) map[string]string {
	out := maps.Clone(want)
	for key, value := range have {
		if !ownLabel(key) {
			out[key] = value
		}
	}
	return out
}

// fingerprint tells sets of labels apart, as far as they are this program's.
func fingerprint(labels map[string]string) string {
	h := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if ownLabel(key) {
			h.Write([]byte(key + "=" + labels[key] + "\n"))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

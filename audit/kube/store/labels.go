package store

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

// The labels that findings are selected by. Other labels of a finding belong to
// someone else and stay.
const (
	ruleLabel     = "rule"
	severityLabel = "severity"
	stateLabel    = "state"
	ownerLabel    = "owner" // of a finding that has one owner
	// ownersLabel is the prefix of the label that a finding has for each of its
	// owners, since one label can't hold several.
	ownersLabel = "owner.eventuallytrue.dev/"
)

// OwnerLabel returns the label value by which findings of an owner are selected. It is
// the owner's name if that is a valid label value; otherwise it is the name's valid
// letters and a hash, so that no two owners have the same value.
func OwnerLabel(owner string) string {
	// A name that ends like the hash of another name gets a hash too: otherwise one
	// owner could pass for another.
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

// labels returns the labels of a record that fits.
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

// labelled reports whether an object has the wanted labels, and no others that this
// program sets.
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

// relabelled returns the labels that an object must have: the wanted ones, and those
// it has that this program does not set.
func relabelled(have, want map[string]string) map[string]string {
	out := maps.Clone(want)
	for key, value := range have {
		if !ownLabel(key) {
			out[key] = value
		}
	}
	return out
}

// fingerprint identifies the set of this program's labels among the given ones.
func fingerprint(labels map[string]string) string {
	h := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if ownLabel(key) {
			h.Write([]byte(key + "=" + labels[key] + "\n"))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

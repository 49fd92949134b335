package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

var (
	labelName   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`)
	labelPrefix = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)
)

// checkLabelKey returns what Kubernetes would say against a key of labels or
// annotations.
func checkLabelKey(key string) error {
	if key == "" {
		return errors.New("is empty: name the key of a label or annotation")
	}
	name := key
	if prefix, rest, ok := strings.Cut(key, "/"); ok {
		if len(prefix) > 253 || !labelPrefix.MatchString(prefix) {
			return fmt.Errorf("%s is no label key: what stands before the slash is no domain in lower case", shown(key))
		}
		name = rest
	}
	if len(name) > 63 || !labelName.MatchString(name) {
		return fmt.Errorf("%s is no label key: a name has at most 63 letters, digits, dashes, dots and underscores, with a letter or digit at both ends", shown(key))
	}
	return nil
}

// checkLabelValue returns what Kubernetes would say against the value of a
// label. It may be empty.
func checkLabelValue(value string) error {
	if value != "" && (len(value) > 63 || !labelName.MatchString(value)) {
		return fmt.Errorf("%s is no label value: it has at most 63 letters, digits, dashes, dots and underscores, with a letter or digit at both ends", shown(value))
	}
	return nil
}

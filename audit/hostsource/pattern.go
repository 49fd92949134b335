package hostsource

import (
	"net/netip"
	"regexp"
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// MaxExpressions is how many regular expressions of one object are evaluated.
const MaxExpressions = 100

// IsGlob reports whether a host has an asterisk other than that of a wildcard, or a
// question mark: "shop-*.example.com", "shop.*" and "sho?.example.com".
func IsGlob(host string) bool {
	rest := strings.TrimPrefix(strings.TrimPrefix(host, "*"), "*.")
	if !strings.ContainsAny(rest, "*?") {
		return false
	}
	return IsHost(strings.ReplaceAll(host, "?", "x"))
}

// Glob returns the expression that a glob stands for: an asterisk is any number of
// characters, and a question mark one.
func Glob(glob string, source snapshot.HostSource) snapshot.HostExpression {
	text := regexp.QuoteMeta(strings.TrimSuffix(glob, "."))
	text = strings.ReplaceAll(strings.ReplaceAll(text, `\*`, ".*"), `\?`, ".")
	e := snapshot.NewHostExpression(text, glob, source)
	e.Whole = true
	return e
}

// hostWithoutPort returns a host without the port that may follow it, which some kinds take
// as a part of the host.
func hostWithoutPort(value string) string {
	host, port, ok := strings.Cut(value, ":")
	if !ok || port == "" || strings.Trim(port, "0123456789") != "" {
		return value
	}
	if _, err := netip.ParseAddr(value); err == nil {
		return value
	}
	return host
}

// isExpression reports whether a value that is not a host is a regular expression. What
// holds a placeholder of a template or is a URL is not: nothing serves that.
func isExpression(value string) bool {
	for _, mark := range []string{"{{", "${", "$(", "://", " "} {
		if strings.Contains(value, mark) {
			return false
		}
	}
	return strings.ContainsAny(value, `^$|()[]+\`)
}

package hosts

import (
	"strings"

	"golang.org/x/net/idna"
)

// Normalize returns a host pattern as it is compared: trimmed, in lower case,
// without one trailing dot, in ASCII. An API server admits hosts in that form
// only, but annotations and manifests come in any. The empty string stands for
// every host, and so does a lone asterisk.
func Normalize(host string) string {
	host = strings.ToLower(strings.TrimSpace(host))
	if !isASCII(host) {
		host = toASCII(host)
	}
	host = strings.TrimSuffix(host, ".")
	if host == "*" {
		return ""
	}
	return host
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// toASCII maps an internationalised name the way resolvers do. What is no name
// at all stays as it is: two equal ones are still equal claims.
func toASCII(host string) string {
	rest, wild := strings.CutPrefix(host, "*.")
	profile := idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false))
	ascii, err := profile.ToASCII(rest)
	if err != nil {
		return host
	}
	if wild {
		return "*." + ascii
	}
	return ascii
}

// IsWildcard reports whether a normal host pattern is a wildcard.
func IsWildcard(host string) bool { return strings.HasPrefix(host, "*.") }

// parentWildcard returns the wildcard that covers the host with exactly one
// label, and the host's own wildcard's parent for a wildcard: "*.example.com"
// for "a.example.com" and for "*.a.example.com".
func parentWildcard(host string) (string, bool) {
	_, rest, ok := strings.Cut(strings.TrimPrefix(host, "*."), ".")
	if !ok || rest == "" {
		return "", false
	}
	return "*." + rest, true
}

// intersectHosts returns the normal host pattern for what two others have in
// common, and reports whether that is anything. Wildcards are those of the
// Gateway API, a match of the end of the name: they cover one or more labels. The empty pattern covers every
// host. Of two patterns with something in common one always covers the other,
// so what they share is the narrower.
func intersectHosts(a, b string) (string, bool) {
	switch {
	case a == b, coversHost(b, a):
		return a, true
	case coversHost(a, b):
		return b, true
	}
	return "", false
}

// coversHost reports whether a pattern covers every host that another, different
// one covers.
func coversHost(wide, narrow string) bool {
	if wide == "" {
		return true
	}
	// A wildcard does not cover its apex: the dot behind the asterisk counts.
	return IsWildcard(wide) && strings.HasSuffix(narrow, wide[1:])
}

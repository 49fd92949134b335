package hosts

import (
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// Normalize returns a host pattern in the form in which patterns are compared:
// trimmed, in lower case, without a trailing dot, in ASCII. An API server only
// admits hosts in that form, but annotations and manifests come in any. The empty
// string means every host; so does a lone asterisk.
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

// toASCII maps an internationalized name the way resolvers do. Text that is not a
// valid name is returned as it is: two equal ones are still equal claims.
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

// IsWildcard reports whether a normalized host pattern is a wildcard.
func IsWildcard(host string) bool { return strings.HasPrefix(host, "*.") }

// parentWildcard returns the wildcard one label above a host or a wildcard:
// "*.example.com" for "a.example.com" and for "*.a.example.com".
func parentWildcard(host string) (string, bool) {
	_, rest, ok := strings.Cut(strings.TrimPrefix(host, "*."), ".")
	if !ok || rest == "" {
		return "", false
	}
	return "*." + rest, true
}

// intersectHosts returns the normalized host pattern of the hosts that two patterns
// have in common, and whether there are any. Wildcards are those of the Gateway
// API: they match the end of the name and cover one or more labels. The empty
// pattern covers every host. If two patterns have hosts in common, one covers the
// other, so the intersection is the narrower one.
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

// isExpression reports whether a claimed pattern is a regular expression. Its spelling is
// not a valid host.
func isExpression(host string) bool { return strings.HasPrefix(host, "~") }

// longestQuote is the maximum number of characters that are quoted of an expression.
const longestQuote = 120

// quoted returns an expression so that people can see it.
func quoted(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	if letters := []rune(text); len(letters) > longestQuote {
		text = string(letters[:longestQuote-1]) + "…"
	}
	return text
}

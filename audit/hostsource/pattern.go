package hostsource

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// claims sorts what an object yields into hosts and other things. They are
// copies: a part of a long text would keep all of it.
func (s *Source) claims(values []string) Claims {
	var c Claims
	for _, value := range values {
		value = strings.TrimSpace(value)
		switch {
		case value == "":
		case isHost(value):
			c.Hosts = append(c.Hosts, s.pattern(strings.Clone(value)))
		default:
			c.Invalid = append(c.Invalid, showOdd(value))
		}
	}
	slices.SortFunc(c.Hosts, comparePatterns)
	c.Hosts = slices.Compact(c.Hosts)
	slices.Sort(c.Invalid)
	c.Invalid = slices.Compact(c.Invalid)
	c.Invalid = c.Invalid[:min(len(c.Invalid), namedOdd)]
	return c
}

// namedOdd is how many things are named that are no hosts.
const namedOdd = 3

// showOdd returns a thing that is no host as people can see what it is.
func showOdd(value string) string {
	if strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }) {
		value = strconv.Quote(value)
	}
	return clean(value)
}

// pattern returns the pattern of a host. Two asterisks are how Traefik writes a
// wildcard that covers any number of labels beside one that covers one.
func (s *Source) pattern(host string) snapshot.HostPattern {
	if rest, ok := strings.CutPrefix(host, "**."); ok {
		return snapshot.HostPattern{Host: "*." + rest, Deep: true}
	}
	return snapshot.HostPattern{Host: host, Deep: s.Deep && strings.HasPrefix(host, "*.")}
}

func comparePatterns(a, b snapshot.HostPattern) int {
	if c := strings.Compare(a.Host, b.Host); c != 0 || a.Deep == b.Deep {
		return c
	}
	if b.Deep {
		return -1
	}
	return 1
}

// longestHost is the number of letters that a host may have.
const longestHost = 253

// isHost reports whether a text can be a host, with or without a wildcard: a
// name of labels, perhaps in other letters than ASCII, or an address. What has
// something else in it, such as a port, a path or a regular expression, cannot
// be compared with the host of another object.
func isHost(text string) bool {
	if utf8.RuneCountInString(text) > longestHost {
		return false
	}
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		case strings.ContainsRune("-_.*", r):
		case r >= utf8.RuneSelf && unicode.IsGraphic(r) && !unicode.IsSpace(r):
		default:
			_, err := netip.ParseAddr(text)
			return err == nil
		}
	}
	return true
}

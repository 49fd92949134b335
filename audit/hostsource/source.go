// Package hostsource reads the hosts that objects claim by expressions in CEL:
// for kinds that nothing else here knows, each cluster its own, and so by the
// config. ReadyMade has the kinds that need no config.
//
// A Source says of one kind how that is done. It knows nothing of API servers
// and manifests, and nothing of owners: what it yields becomes a fact in package
// ingest, and rules judge that.
package hostsource

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Source is a kind whose objects claim hosts, and how to read them.
type Source struct {
	Kind snapshot.Kind
	// Object is the kind as its objects spell it, such as "VirtualService".
	Object string
	// Versions are those that the expression is for, the most preferred first.
	// A cluster serves the same objects in each of them, so one is read.
	Versions []string
	Hosts    Expression
	// Deep is true where a wildcard covers any number of labels and not just
	// one.
	Deep bool
	// ReadyMade is true of a source that nobody asked for: that a cluster does
	// not serve the kind is not worth a word then.
	BuiltIn bool
	// Fields are the fields that say what an object claims, such as
	// "spec.hosts", so that its history tells since when at the latest.
	// "metadata.name" never changes. Where none is named it may be any.
	Fields []string
}

// Claims are what an object claims.
type Claims struct {
	Hosts []snapshot.HostPattern // sorted, each once, none empty
	// Odd are the first few things in place of a host that are none, sorted.
	Invalid []string
}

// Read returns what an object claims, given as JSON is decoded. It fails where
// the expression does, and with the cause of the context where that ended.
func (s *Source) Read(ctx context.Context, object map[string]any) (Claims, error) {
	values, err := s.Hosts.Eval(ctx, object)
	if err != nil {
		return Claims{}, err
	}
	return s.claims(values), nil
}

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
			c.Invalid = append(c.Invalid, printable(value))
		}
	}
	slices.SortFunc(c.Hosts, comparePatterns)
	c.Hosts = slices.Compact(c.Hosts)
	slices.Sort(c.Invalid)
	c.Invalid = slices.Compact(c.Invalid)
	c.Invalid = c.Invalid[:min(len(c.Invalid), maxInvalid)]
	return c
}

// namedOdd is how many things are named that are no hosts.
const maxInvalid = 3

// showOdd returns a thing that is no host as people can see what it is.
func printable(value string) string {
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

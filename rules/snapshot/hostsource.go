package snapshot

import (
	"strings"
	"time"
)

// HostExpression is a regular expression by which an object claims hosts.
type HostExpression struct {
	// Text is the expression, in the syntax of RE2 as far as it can be read.
	Text string
	// Whole is true if it has to match the whole host, not just a part.
	Whole bool
	// Spelling is how the object spells it, for people.
	Spelling string
	// Source is the field that has it, and Set since when at the latest, for an Ingress.
	Source HostSource
	Set    time.Time
}

// maxExpression bounds what is kept of an expression. A longer one is kept so far that it
// is seen to be too long.
const maxExpression = 1 << 10

// NewHostExpression returns the expression that an object spells in some way. It copies
// both, because a part of a long text would keep all of it in memory.
func NewHostExpression(text, spelling string, source HostSource) HostExpression {
	return HostExpression{Text: strings.Clone(text[:min(len(text), maxExpression+1)]), Spelling: strings.Clone(spelling), Source: source}
}

// HostSource says which field of an object claims a host.
type HostSource string

// The fields that claim a host.
const (
	FromRule        HostSource = "rule"          // spec.rules[].host
	FromServerAlias HostSource = "server-alias"  // nginx.ingress.kubernetes.io/server-alias
	FromExternalDNS HostSource = "external-dns"  // the hostname annotation of external-dns
	FromALB         HostSource = "alb-condition" // alb.ingress.kubernetes.io/conditions.*
	FromDefault     HostSource = "default-backend"

	FromHAProxyAlias      HostSource = "haproxy-server-alias"     // haproxy-ingress.github.io/server-alias
	FromHAProxyRedirect   HostSource = "haproxy-redirect-from"    // haproxy-ingress.github.io/redirect-from
	FromKongAliases       HostSource = "kong-host-aliases"        // konghq.com/host-aliases
	FromHostnameExtension HostSource = "appgw-hostname-extension" // appgw.ingress.kubernetes.io/hostname-extension
)

// FromHostSource is the source of what a HostObject claims.
const FromHostSource HostSource = "host-source"

// Yields reports whether the controller that reads hosts from a field serves every exact
// name and every wildcard before a regular expression, so that one takes only what nobody
// else claims:
//
//   - nginx looks for an exact name, then for wildcards, then for expressions
//     (ngx_http_core_module, server_name), and ingress-nginx writes aliases there
//   - HAProxy Ingress looks up a host in the map of exact names, then in that of
//     expressions (pkg/haproxy/config.go)
//   - Kong tries exact hosts before wildcards (docs, expressions of routes)
//
// Load balancers of clouds try their rules by a priority, and of anything else it is not
// known.
func (s HostSource) Yields() bool {
	switch s {
	case FromServerAlias, FromHAProxyAlias, FromHAProxyRedirect, FromKongAliases:
		return true
	}
	return false
}

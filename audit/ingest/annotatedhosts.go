package ingest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// addAnnotated adds the hosts that the annotations of an Ingress claim. Whether its
// controller reads them is not evident from the Ingress alone.
func (in *Ingester) addAnnotated(f *snapshot.Ingress, o *metav1.ObjectMeta) {
	if len(o.Annotations) == 0 {
		return
	}
	for _, a := range in.aliases {
		if strings.HasSuffix(a.Annotation, ".") {
			for _, key := range keysBelow(o.Annotations, a.Annotation) {
				addAlias(f, o, a, key)
			}
		} else if _, ok := o.Annotations[a.Annotation]; ok {
			addAlias(f, o, a, a.Annotation)
		}
	}
	for _, d := range in.dns {
		if !d.publishes(o.Annotations) {
			continue
		}
		items := strings.Split(o.Annotations[d.hostname], ",")
		addHosts(f, snapshot.FromExternalDNS, d.hostname, annotationSet(o, d.hostname), nonEmpty(items))
	}
}

// addAlias adds the hosts that one annotation claims.
func addAlias(f *snapshot.Ingress, o *metav1.ObjectMeta, a snapshot.Alias, key string) {
	value, set := o.Annotations[key], annotationSet(o, key)
	switch a.Form {
	case snapshot.AliasPattern:
		if strings.TrimSpace(value) != "" {
			addExpression(f, key, set, snapshot.NewHostExpression(value, value, a.Source))
		}
	case snapshot.AliasConditions:
		hosts, patterns, err := hostHeaders(value)
		if err != nil {
			// The controller fails as well, and leaves everything as it served it before.
			f.Unreadable = append(f.Unreadable, snapshot.UnreadableHosts{Source: a.Source, Reason: fmt.Sprintf("%s: %v", key, err), MayClaim: true})
		}
		for _, pattern := range patterns {
			addExpression(f, key, set, snapshot.NewHostExpression(pattern, pattern, a.Source))
		}
		addHosts(f, a.Source, key, set, nonEmpty(hosts))
	case snapshot.AliasList:
		var hosts []string
		for _, item := range strings.Split(value, ",") {
			if a.Source == snapshot.FromServerAlias {
				item = unquoted(item)
			}
			hosts = append(hosts, listItem(item)...)
		}
		addHosts(f, a.Source, key, set, hosts)
	}
}

// unquoted returns a value without the quotes around it, which mean nothing to nginx: an
// ingress-nginx that does not validate annotations writes aliases into its configuration
// as they are. There, what else has quotes or ends a directive may claim anything.
func unquoted(item string) string {
	item = strings.TrimSpace(item)
	if n := len(item); n > 1 && item[0] == item[n-1] && (item[0] == '"' || item[0] == '\'') {
		return item[1 : n-1]
	}
	return item
}

// listItem returns the hosts in one item of a list, which blanks may separate too. What
// holds anything else is returned whole: a part of a placeholder may look like a host.
func listItem(item string) []string {
	parts := strings.Fields(item)
	for _, part := range parts {
		if !strings.HasPrefix(part, "~") && !hostsource.IsHost(part) {
			return []string{item}
		}
	}
	return parts
}

// nonEmpty returns the values that are not blank.
func nonEmpty(values []string) []string {
	return slices.DeleteFunc(values, func(v string) bool { return strings.TrimSpace(v) == "" })
}

// maxInvalid is how many values of one field that cannot be hosts are kept.
const maxInvalid = 3

// addHosts adds the values of a field that claims hosts. What cannot be a host, such as
// the placeholder of a template or a URL, claims nothing: the API server would refuse it,
// and no controller serves it.
func addHosts(f *snapshot.Ingress, source snapshot.HostSource, field string, set time.Time, values []string) {
	var invalid []string
	directive := false
	for _, value := range values {
		value = strings.TrimSpace(value)
		expression, marked := strings.CutPrefix(value, "~")
		zone, dotted := strings.CutPrefix(value, ".")
		switch {
		case marked && (source == snapshot.FromServerAlias || source == snapshot.FromALB):
			addExpression(f, field, set, snapshot.NewHostExpression(expression, value, source))
		case dotted && source == snapshot.FromServerAlias && hostsource.IsHost(zone):
			// nginx, server_name: ".example.com" is both names.
			f.Hosts = append(f.Hosts, snapshot.HostClaim{Host: zone, Source: source, Set: set}, snapshot.HostClaim{Host: "*." + zone, Source: source, Set: set})
		case hasGlobs(source) && hostsource.IsGlob(value):
			addExpression(f, field, set, hostsource.Glob(value, source))
		case hostsource.IsHost(value):
			f.Hosts = append(f.Hosts, snapshot.HostClaim{Host: value, Source: source, Set: set})
		default:
			invalid = addInvalid(invalid, value)
			directive = directive || strings.ContainsAny(value, `;"'`)
		}
	}
	if len(invalid) > 0 {
		reason := fmt.Sprintf("%s: not a host: %s", field, strings.Join(invalid, ", "))
		f.Unreadable = append(f.Unreadable, snapshot.UnreadableHosts{Source: source, Reason: reason, MayClaim: source == snapshot.FromServerAlias && directive})
	}
}

// hasGlobs reports whether a controller reads asterisks in a field anywhere, not only as
// the first label. The API server admits no other in a rule, and a record of the DNS has
// no other.
func hasGlobs(source snapshot.HostSource) bool {
	return source != snapshot.FromRule && source != snapshot.FromExternalDNS
}

// addExpression adds a regular expression that claims hosts. One object has a limited
// number of them.
func addExpression(f *snapshot.Ingress, field string, set time.Time, e snapshot.HostExpression) {
	if len(f.Expressions) < hostsource.MaxExpressions {
		e.Set = set
		f.Expressions = append(f.Expressions, e)
		return
	}
	over := snapshot.UnreadableHosts{
		Source: e.Source, Reason: fmt.Sprintf("%s: more than %d regular expressions", field, hostsource.MaxExpressions), MayClaim: true,
	}
	if !slices.Contains(f.Unreadable, over) {
		f.Unreadable = append(f.Unreadable, over)
	}
}

// addInvalid adds a value that cannot be a host to the first few of them.
func addInvalid(invalid []string, value string) []string {
	if shown := hostsource.Printable(value); len(invalid) < maxInvalid && !slices.Contains(invalid, shown) {
		return append(invalid, shown)
	}
	return invalid
}

// keysBelow returns the keys with a prefix, sorted.
func keysBelow(annotations map[string]string, prefix string) []string {
	var keys []string
	for key := range annotations {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// hostHeaders returns the hosts and the regular expressions in the conditions that a
// controller of cloud load balancers reads from an annotation: AWS names the field
// host-header, Alibaba Cloud the type Host.
func hostHeaders(conditions string) (hosts, patterns []string, err error) {
	var list []struct {
		Field            string `json:"field"`
		HostHeaderConfig struct {
			Values      []string `json:"values"`
			RegexValues []string `json:"regexValues"`
		} `json:"hostHeaderConfig"`
		Type       string `json:"type"`
		HostConfig struct {
			Values []string `json:"values"`
		} `json:"hostConfig"`
	}
	if err := json.Unmarshal([]byte(conditions), &list); err != nil {
		return nil, nil, fmt.Errorf("read conditions: %w", err)
	}
	for _, c := range list {
		switch {
		case c.Field == "host-header":
			hosts = append(hosts, c.HostHeaderConfig.Values...)
			patterns = append(patterns, c.HostHeaderConfig.RegexValues...)
		case c.Type == "Host":
			hosts = append(hosts, c.HostConfig.Values...)
		}
	}
	return hosts, patterns, nil
}

// dnsAnnotations are the keys of the annotations that external-dns reads from an Ingress
// below one prefix (its source/annotations/annotations.go and source/ingress.go). It
// reads internal-hostname from Services and pods only.
type dnsAnnotations struct{ hostname, source, controller string }

// dnsBelow returns the annotations of external-dns below the prefixes. An installation of
// external-dns has one prefix.
func dnsBelow(prefixes []string) []dnsAnnotations {
	dns := make([]dnsAnnotations, len(prefixes))
	for i, p := range prefixes {
		dns[i] = dnsAnnotations{p + "hostname", p + "ingress-hostname-source", p + "controller"}
	}
	return dns
}

// ReadExternalDNS makes the Ingester read the annotations of external-dns below these
// prefixes, instead of hostsource.ExternalDNSPrefixes, and returns the Ingester. If there
// are none, nothing changes.
func (in *Ingester) ReadExternalDNS(prefixes []string) *Ingester {
	if len(prefixes) > 0 {
		in.dns = dnsBelow(prefixes)
	}
	return in
}

// publishes reports whether external-dns publishes the hostname annotation of an Ingress.
// It ignores an object that names another controller. A source of hostnames other than
// its annotations, in either case, leaves them out, even if the word is unknown.
func (d *dnsAnnotations) publishes(annotations map[string]string) bool {
	if _, ok := annotations[d.hostname]; !ok {
		return false
	}
	if controller, ok := annotations[d.controller]; ok && controller != "dns-controller" {
		return false
	}
	source, ok := annotations[d.source]
	return !ok || strings.EqualFold(source, "annotation-only")
}

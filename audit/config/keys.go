package config

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Key describes a key of the config.
type Key struct {
	// Path is the path of the key, with [] for each item of a list and NAME for the
	// name of a rule.
	Path    string
	Type    string // of its value
	Default string // as a file would spell it; empty if there is none
	Doc     string // its meaning, in a line
}

// Keys returns every key of the config, in the order in which errors list them.
// Sections are not keys.
func Keys() []Key {
	docs, defaults := keyDocs(), Default()
	var keys []Key
	walk("", reflect.ValueOf(defaults), func(path string, value reflect.Value) {
		key := Key{Path: path, Type: typeName(value.Type()), Default: defaultOf(value)}
		if doc, ok := docs[path]; ok {
			key.Doc = doc.text
			if key.Default == "" {
				key.Default = doc.otherwise
			}
		}
		keys = append(keys, key)
	})
	return keys
}

// walk calls each for every value below a section that is not itself a section, with
// its path.
func walk(path string, section reflect.Value, each func(path string, value reflect.Value)) {
	for i := range section.NumField() {
		key := section.Type().Field(i).Tag.Get("yaml")
		if key == "-" {
			continue
		}
		at, value := join(path, key), section.Field(i)
		switch t := value.Type(); {
		case isSection(t):
			walk(at, value, each)
		case t.Kind() == reflect.Slice && isSection(t.Elem()):
			walk(at+"[]", reflect.Zero(t.Elem()), each)
		case t.Kind() == reflect.Map && isSection(t.Elem()):
			walk(at+".NAME", reflect.Zero(t.Elem()), each)
		default:
			each(at, value)
		}
	}
}

// isSection reports whether the decoder reads a type as a mapping with known keys.
func isSection(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// typeName names the type of a value, and returns "" for an unknown type.
func typeName(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		return typeName(t.Elem())
	}
	return map[reflect.Type]string{
		reflect.TypeFor[string]():             "string",
		reflect.TypeFor[[]string]():           "list of keys",
		reflect.TypeFor[[]Glob]():             "list of globs",
		reflect.TypeFor[[]ChannelGlob]():      "list of globs",
		reflect.TypeFor[[]Direction]():        "list of Ingress, Egress",
		reflect.TypeFor[[]AnnotationPrefix](): "list of annotation prefixes",
		reflect.TypeFor[bool]():               "boolean",
		reflect.TypeFor[map[string]string]():  "mapping",
		reflect.TypeFor[Channel]():            "channel ID",
		reflect.TypeFor[Count]():              "integer",
		reflect.TypeFor[Duration]():           "duration",
		reflect.TypeFor[Expiry]():             "date or time",
		reflect.TypeFor[Glob]():               "glob",
		reflect.TypeFor[Hold]():               "duration, or N sweeps",
		reflect.TypeFor[HostExpression]():     "CEL",
		reflect.TypeFor[LinkTemplate]():       "URL with placeholders",
		reflect.TypeFor[Mention]():            "mention",
		reflect.TypeFor[Profile]():            "observe, standard or strict",
		reflect.TypeFor[Severity]():           "low, medium or high",
		reflect.TypeFor[TimeOfDay]():          "time of day",
		reflect.TypeFor[TimeZone]():           "time zone",
		reflect.TypeFor[URL]():                "URL",
		reflect.TypeFor[Wildcard]():           "one or many",
	}[t]
}

// defaultOf returns a value of the default config as a file would spell it, or "".
func defaultOf(value reflect.Value) string {
	if value.IsZero() {
		return ""
	}
	switch v := value.Interface().(type) {
	case Duration:
		return shortDuration(time.Duration(v))
	case []string:
		return "[" + strings.Join(v, ", ") + "]"
	case []AnnotationPrefix:
		return "[" + strings.Join((&Hosts{ExternalDNSPrefixes: v}).Prefixes(), ", ") + "]"
	default:
		return fmt.Sprint(v)
	}
}

// shortDuration formats a duration without units that are zero: 24h, not 24h0m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// keyDoc is the description of a key.
type keyDoc struct {
	text string
	// otherwise is the default, if Default does not have it.
	otherwise string
}

// keyDocs describes each key, by its path. The table of the documentation and `audit
// config explain` are generated from it.
func keyDocs() map[string]keyDoc {
	return map[string]keyDoc{
		"cluster": {"name of the cluster in reports, messages and metrics", "context of the kubeconfig, or the server"},
		"profile": {"defaults for the settings of rules; see Profiles", ""},

		"owners.keys":             {"labels or annotations that name an owner, in order of precedence", ""},
		"owners.sharedNamespaces": {"namespaces in which the owner of an object takes precedence over the owner of the Namespace", ""},
		"owners.fallback":         {"owner who is notified of findings without an owner; may be one of the teams", ""},
		"owners.teams[].name":     {"name of the owner, as in owner keys and findings", ""},
		"owners.teams[].namespaces": {
			"namespaces that the team owns; the first team in the file that matches a namespace owns it", "",
		},
		"owners.teams[].namespaceSelector.matchLabels": {"labels of the Namespaces that the team owns; all of them must match", ""},
		"owners.teams[].slack.channel":                 {"channel in which the team is notified; needs the bot token", ""},
		"owners.teams[].slack.webhookFile": {
			"path of a file with the URL of a Slack incoming webhook, instead of channel; webhooks do not support threads", "",
		},
		"owners.teams[].slack.mention":       {"who is mentioned in messages to the team", "no one"},
		"owners.teams[].quietHours.from":     {"start of the hours in which the team gets no messages; messages are sent when they end", ""},
		"owners.teams[].quietHours.to":       {"end of the quiet hours, on the next day if it is earlier than from", ""},
		"owners.teams[].quietHours.timeZone": {"time zone of the quiet hours, such as Europe/Berlin", "UTC"},
		"owners.teams[].reportOnly":          {"store and count findings of the team, but do not notify it", "false"},

		"rules.NAME.enabled":    {"whether the rule runs", "true"},
		"rules.NAME.severity":   {"severity of findings", "the rule's own"},
		"rules.NAME.for":        {"how long a new violation stays pending before a finding is opened", "opened at once"},
		"rules.NAME.directions": {"directions of traffic that must be denied by default; only for rules with directions", "[Ingress, Egress]"},
		"rules.NAME.exemptNamespaces": {
			"namespaces that are not evaluated; only for rules with exempt namespaces", "[kube-system, kube-public, kube-node-lease]",
		},
		"rules.NAME.reportOnly": {"store and count findings of the rule, but notify no one", "false"},

		"exceptions[].rule":              {"rule whose violations are hidden", ""},
		"exceptions[].subject.kind":      {"kind of the subject, such as Namespace", "any"},
		"exceptions[].subject.namespace": {"namespaces whose violations are hidden", ""},
		"exceptions[].subject.name":      {"exact name of the subject, such as a host", ""},
		"exceptions[].subject.detail":    {"detail of the subject, such as Egress", "any"},
		"exceptions[].reason":            {"why the violation is accepted", ""},
		"exceptions[].expires":           {"when the exception expires; a date includes the whole day, in UTC", ""},

		"hostSources[].group":    {`API group of a kind whose objects claim hosts; "" is the core group`, ""},
		"hostSources[].version":  {"API version that is read", "that of the built-in source"},
		"hostSources[].resource": {"lower-case plural of the kind", ""},
		"hostSources[].kind":     {"kind, as in its objects", "that of the built-in source"},
		"hostSources[].hosts":    {"expression that returns the hosts of an object", "that of the built-in source"},
		"hostSources[].wildcard": {"how many labels of a host a wildcard covers", "many"},
		"hostSources[].enabled":  {"whether a built-in source is used", "true"},

		"hosts.externalDNSPrefixes": {"prefixes of the annotations that external-dns reads: its --annotation-prefix, or several for several installations", ""},

		"hosts.trustedSolvers": {"namespaces in which solvers of ACME challenges claim no host, although nothing else there claims it", ""},

		"findings.keepResolved":     {"how long a resolved finding is kept", ""},
		"limits.newFindings":        {"if one namespace causes more findings in a sweep, they are a storm: owners get one summary instead of a message each", ""},
		"limits.hostsPerObject":     {"hosts that one object may claim; one with more is not evaluated, and named", ""},
		"limits.hostsPerNamespace":  {"hosts that the objects of one kind in a namespace may claim; what comes after them is not evaluated, and named", ""},
		"limits.termsPerObject":     {"rules, peers, requirements, addresses and ports that one policy or set of addresses may have", ""},
		"limits.termsPerNamespace":  {"the same for the objects of one kind in a namespace", ""},
		"limits.labelsPerObject":    {"labels that one pod, pod template or Namespace may have", ""},
		"limits.labelsPerNamespace": {"different labels that the objects of one kind in a namespace may have", ""},
		"limits.storedFindings":     {"how many findings that one namespace causes are stored one by one; one finding counts the others", ""},

		"slack.tokenFile":   {"path of a file with the bot token; without it the environment variable AUDIT_SLACK_TOKEN is used", ""},
		"slack.remindAfter": {"how long after the last message an owner is reminded of an open finding", ""},
		"slack.channelFrom.namespaceAnnotation": {
			"annotation of Namespaces that names the channel of an owner without a channel in owners.teams", "",
		},
		"slack.channelFrom.allow": {"channels that the annotation may name, by name (without #) or ID; all others are ignored", ""},

		"links.finding": {"page about a finding that messages link to, with {cluster}, {id}, {kind}, {name}, {namespace} and {rule}", ""},
		"links.rule":    {"page about a rule that messages link to, with the same placeholders", ""},

		"webhook.url":        {"URL to which each digest is sent as JSON, for other chat and ticket systems", ""},
		"webhook.secretFile": {"path of a file with the key that signs messages", ""},

		"events": {"also record changes of findings as Events on their objects", "false"},

		"pushgateway.url":                    {"URL of the Pushgateway to which metrics are pushed after each sweep that publishes; requires cluster", ""},
		"pushgateway.timeout":                {"timeout of a push", ""},
		"pushgateway.basicAuth.username":     {"user name for basic authentication", ""},
		"pushgateway.basicAuth.passwordFile": {"path of a file with the password", ""},
		"pushgateway.bearerTokenFile":        {"path of a file with a bearer token, as an alternative to basicAuth", ""},
		"pushgateway.caFile":                 {"path of a file with the CA certificates to trust instead of the system's", ""},
		"pushgateway.certFile":               {"path of a file with the client certificate", ""},
		"pushgateway.keyFile":                {"path of a file with the key of the client certificate", ""},
	}
}

package config

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Key is what people read of a key of the config.
type Key struct {
	// Path is where it stands: behind [] in each item of a list, and with NAME in
	// place of the name of a rule.
	Path    string
	Type    string // what its value is
	Default string // as a file would spell it; empty where there is none
	Doc     string // what it means, in a line
}

// Keys returns every key that a config may have, in the order in which errors
// name them. Sections are no keys of their own.
func Keys() []Key {
	docs, defaults := keyDocs(), Default()
	var keys []Key
	walk("", reflect.ValueOf(defaults), func(path string, value reflect.Value) {
		key := Key{Path: path, Type: typeName(value.Type()), Default: defaultOf(value)}
		if doc, ok := docs[path]; ok {
			key.Doc = doc.means
			if key.Default == "" {
				key.Default = doc.otherwise
			}
		}
		keys = append(keys, key)
	})
	return keys
}

// walk calls each for every value below a section that is no section itself, with
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

// isSection reports whether the decoder takes a type for a mapping of known keys.
func isSection(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// typeName says what a value of a type is, and nothing of a type that is new.
func typeName(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		return typeName(t.Elem())
	}
	return map[reflect.Type]string{
		reflect.TypeFor[string]():            "text",
		reflect.TypeFor[[]string]():          "list of keys",
		reflect.TypeFor[[]Glob]():            "list of globs",
		reflect.TypeFor[[]ChannelGlob]():     "list of globs",
		reflect.TypeFor[[]Direction]():       "list of Ingress, Egress",
		reflect.TypeFor[bool]():              "true or false",
		reflect.TypeFor[map[string]string](): "mapping",
		reflect.TypeFor[Channel]():           "channel ID",
		reflect.TypeFor[Count]():             "whole number",
		reflect.TypeFor[Duration]():          "duration",
		reflect.TypeFor[Expiry]():            "date or time",
		reflect.TypeFor[Glob]():              "glob",
		reflect.TypeFor[Hold]():              "duration, or N sweeps",
		reflect.TypeFor[HostExpression]():    "CEL",
		reflect.TypeFor[Mention]():           "mention",
		reflect.TypeFor[Severity]():          "low, medium or high",
		reflect.TypeFor[TimeOfDay]():         "time of day",
		reflect.TypeFor[TimeZone]():          "time zone",
		reflect.TypeFor[URL]():               "URL",
		reflect.TypeFor[Wildcard]():          "one or many",
	}[t]
}

// defaultOf spells a value of the default config, empty where that leaves it out.
func defaultOf(value reflect.Value) string {
	if value.IsZero() {
		return ""
	}
	switch v := value.Interface().(type) {
	case Duration:
		return spelled(time.Duration(v))
	case []string:
		return "[" + strings.Join(v, ", ") + "]"
	default:
		return fmt.Sprint(v)
	}
}

// spelled writes a length of time without units that are zero: 24h, not 24h0m0s.
func spelled(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// keyDoc is what people read of a key beside its type.
type keyDoc struct {
	means string
	// otherwise is what holds without the key, where Default does not tell.
	otherwise string
}

// keyDocs says what each key means, by its path. The README's table and `audit
// config explain` come from here.
func keyDocs() map[string]keyDoc {
	return map[string]keyDoc{
		"cluster": {"name of the cluster in reports, messages and metrics", "context of the kubeconfig, or the server"},

		"owners.keys":             {"labels or annotations that name an owner, the most trusted first", ""},
		"owners.sharedNamespaces": {"namespaces in which an object's own key wins over that of the Namespace", ""},
		"owners.fallback":         {"owner who is told of what nobody owns; may be one of the teams", ""},
		"owners.teams[].name":     {"name of the owner, as owner keys and findings have it", ""},
		"owners.teams[].namespaces": {
			"namespaces that the team owns; the first team in the file that claims one has it", "",
		},
		"owners.teams[].namespaceSelector.matchLabels": {"labels of the Namespaces that the team owns; all must be there", ""},
		"owners.teams[].slack.channel":                 {"where the team is told, with the bot token", ""},
		"owners.teams[].slack.webhookFile": {
			"in place of channel: path of the file with the URL of an incoming webhook, which takes no threads", "",
		},
		"owners.teams[].slack.mention":       {"who is called in messages to the team", "nobody"},
		"owners.teams[].quietHours.from":     {"when the hours begin in which the team is sent nothing; what is due waits", ""},
		"owners.teams[].quietHours.to":       {"when they are over, on the next day where it is earlier than from", ""},
		"owners.teams[].quietHours.timeZone": {"zone of both, such as Europe/Berlin", "UTC"},
		"owners.teams[].reportOnly":          {"findings of the team are stored and counted, and it is told nothing", "false"},

		"rules.NAME.enabled":    {"false switches the rule off", "true"},
		"rules.NAME.severity":   {"what a violation weighs", "the rule's own"},
		"rules.NAME.for":        {"how long something new waits before it is opened", "opened at once"},
		"rules.NAME.directions": {"what must be denied by default; of rules that take directions", "[Ingress, Egress]"},
		"rules.NAME.exemptNamespaces": {
			"namespaces that are not judged; of rules that take them", "[kube-system, kube-public, kube-node-lease]",
		},
		"rules.NAME.reportOnly": {"findings of the rule are stored and counted, and nobody is told", "false"},

		"exceptions[].rule":              {"rule whose violations are hidden", ""},
		"exceptions[].subject.kind":      {"kind of the subject, such as Namespace", "any"},
		"exceptions[].subject.namespace": {"namespaces whose violations are hidden", ""},
		"exceptions[].subject.name":      {"name of the subject, such as a host, exactly", ""},
		"exceptions[].subject.detail":    {"detail of the subject, such as Egress", "any"},
		"exceptions[].reason":            {"why the violation may stay", ""},
		"exceptions[].expires":           {"when it is over; of a date the end of that day in UTC", ""},

		"hostSources[].group":    {`API group of a kind whose objects claim hosts, "" for the core group`, ""},
		"hostSources[].version":  {"version of the API that is read", "that of the ready-made source"},
		"hostSources[].resource": {"plural of the kind, in lower case", ""},
		"hostSources[].kind":     {"the kind as its objects spell it", "that of the ready-made source"},
		"hostSources[].hosts":    {"expression that yields the hosts of an object", "that of the ready-made source"},
		"hostSources[].wildcard": {"how many labels of a host a wildcard covers", "many"},
		"hostSources[].enabled":  {"false switches a ready-made source off", "true"},

		"findings.keepResolved": {"how long a resolved finding is kept", ""},
		"limits.newFindings":    {"more new findings in one sweep are a storm, of which owners are told in one summary", ""},

		"slack.tokenFile":   {"path of the file with the bot token; without it AUDIT_SLACK_TOKEN in the environment may hold the token", ""},
		"slack.remindAfter": {"how long an owner hears nothing of a finding that stays open", ""},
		"slack.channelFrom.namespaceAnnotation": {
			"annotation of Namespaces that names the channel of an owner who has none in owners.teams", "",
		},
		"slack.channelFrom.allow": {"channels that it may name, by name (without #) or ID; no other counts", ""},

		"webhook.url":        {"where each digest is sent to as JSON, for other chat and ticket systems", ""},
		"webhook.secretFile": {"path of the file with the key by which it is signed", ""},

		"events": {"what becomes of a finding is recorded as Events on its objects too", "false"},

		"pushgateway.url":                    {"where metrics are pushed to after each sweep that publishes; it takes a cluster with a name", ""},
		"pushgateway.timeout":                {"how long one push may take", ""},
		"pushgateway.basicAuth.username":     {"user who pushes", ""},
		"pushgateway.basicAuth.passwordFile": {"path of the file with the user's password", ""},
		"pushgateway.bearerTokenFile":        {"path of the file with a token, in place of basicAuth", ""},
		"pushgateway.caFile":                 {"path of the certificates of those who may have signed the server's, in place of the system's", ""},
		"pushgateway.certFile":               {"path of the client's certificate", ""},
		"pushgateway.keyFile":                {"path of its key", ""},
	}
}

package config

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/eventuallytrue/audit/rules"
)

// validator checks what a single value cannot check itself: required keys,
// duplicates, and what a rule accepts.
type validator struct {
	c   *Config
	set []*rules.Rule
	d   *decoder
}

// validate adds invalid values to the syntax errors that the decoder found. It
// checks what could be decoded and skips the rest.
func validate(c *Config, set []*rules.Rule, d *decoder) {
	v := validator{c, set, d}
	v.printableName("", "cluster", c.Cluster)
	// It is part of the path of a Pushgateway URL, where these have another meaning.
	if c.Cluster == "." || c.Cluster == ".." {
		v.add("", "cluster", "%s is not a valid cluster name", shown(c.Cluster))
	}
	v.owners()
	v.rules()
	for i := range c.Exceptions {
		v.exception(index("exceptions", i), &c.Exceptions[i])
	}
	v.hostSources()
	v.externalDNSPrefixes()
	v.slack()
	v.webhook()
	v.pushgateway()
}

// add records a mistake in a key of a section, on the line of the key or, if it is
// missing, of the section. Further mistakes in a value that was refused are not
// reported.
func (v *validator) add(section, key, format string, args ...any) {
	path := join(section, key)
	if v.d.broken[path] {
		return
	}
	at, ok := v.d.at[path]
	if !ok {
		at = v.d.at[section]
	}
	v.d.found.add(at, path, format, args...)
}

// addItem is add for an item of the list at a path.
func (v *validator) addItem(path string, i int, format string, args ...any) {
	if at := index(path, i); !v.d.broken[at] {
		v.d.found.add(v.d.at[at], at, format, args...)
	}
}

// given reports whether a key is in the file.
func (v *validator) given(section, key string) bool {
	_, ok := v.d.at[join(section, key)]
	return ok
}

// printableName refuses a name that would not look in output as it is written in the
// file.
func (v *validator) printableName(section, key, name string) {
	switch {
	case strings.TrimSpace(name) != name:
		v.add(section, key, "%s begins or ends with a space", shown(name))
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		v.add(section, key, "%s contains characters that cannot be printed", shown(name))
	}
}

// missing reports a required key that is missing or empty.
func (v *validator) missing(section, key string, given bool, why string) {
	word := "missing"
	if given {
		word = "must not be empty"
	}
	v.add(section, key, "%s: %s", word, why)
}

// file checks the path of a file with a secret. A frequent mistake is to write the
// secret itself instead of the path. secret names the kind of secret.
func (v *validator) file(section, key, path, secret string) {
	switch {
	case v.given(section, key) && strings.TrimSpace(path) == "":
		v.add(section, key, "must not be empty: omit the key instead")
	case strings.ContainsAny(path, "\n\r"):
		v.add(section, key, "not a path: write the %[1]s to a file and use the path of the file", secret)
	case holdsSecret(path):
		v.add(section, key, "looks like a %[1]s: write the %[1]s to a file and use the path of the file", secret)
	}
}

func (v *validator) owners() {
	o := &v.c.Owners
	if len(o.Keys) == 0 {
		v.add("owners", "keys", "must not be empty: use at least one key, or omit it for the default")
	}
	for i, key := range o.Keys {
		if err := checkLabelKey(key); err != nil {
			v.addItem("owners.keys", i, "%s", err)
		} else if slices.Index(o.Keys, key) < i {
			v.addItem("owners.keys", i, "%s is listed twice", shown(key))
		}
	}
	v.printableName("owners", "fallback", o.Fallback)
	first := map[string]string{}
	for i := range o.Teams {
		path := index("owners.teams", i)
		if v.d.broken[path] {
			continue
		}
		v.team(path, &o.Teams[i])
		name := o.Teams[i].Name
		if other, ok := first[name]; ok {
			v.add(path, "name", "%s is already the name of %s on line %d", shown(name), other, v.d.at[other].line)
		} else if name != "" {
			first[name] = path
		}
	}
}

func (v *validator) team(path string, t *Team) {
	v.printableName(path, "name", t.Name)
	if t.Name == "" {
		v.missing(path, "name", v.given(path, "name"), "a team needs a name")
	}
	labels := t.NamespaceSelector.MatchLabels
	selector := join(path, "namespaceSelector")
	if v.given(path, "namespaceSelector") && len(labels) == 0 && !v.d.unsure[selector] {
		v.add(path, "namespaceSelector", "selects nothing: add a label under matchLabels, or omit it")
	}
	section := join(selector, "matchLabels")
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if err := checkLabelKey(key); err != nil {
			v.add(section, key, "%s", err)
		}
		if err := checkLabelValue(labels[key]); err != nil {
			v.add(section, key, "%s", err)
		}
	}
	v.teamSlack(join(path, "slack"), &t.Slack)
	v.quietHours(path, t.QuietHours)
}

func (v *validator) slack() {
	v.file("slack", "tokenFile", v.c.Slack.TokenFile, "token")
	from, path := v.c.Slack.ChannelFrom, "slack.channelFrom"
	if !v.given("slack", "channelFrom") || v.d.unsure[path] {
		return
	}
	key, globs := v.given(path, "namespaceAnnotation"), v.given(path, "allow")
	switch {
	case key && from.NamespaceAnnotation == "", globs && !key:
		v.missing(path, "namespaceAnnotation", key, "set it to the annotation of a Namespace that names its channel")
	case key:
		if err := checkLabelKey(from.NamespaceAnnotation); err != nil {
			v.add(path, "namespaceAnnotation", "%s", err)
		}
	}
	if len(from.Allow) == 0 && (globs || key) {
		v.missing(path, "allow", globs, `list the channels that it may name, such as "team-*"`)
	}
}

func (v *validator) teamSlack(path string, s *TeamSlack) {
	v.file(path, "webhookFile", s.WebhookFile, "webhook's URL")
	channel, webhook := v.given(path, "channel"), v.given(path, "webhookFile")
	switch {
	case channel && webhook:
		v.add(path, "webhookFile", "conflicts with channel: use one of them")
	// The channel may come from a Namespace.
	case v.given(path, "mention") && !channel && !webhook && !v.given("slack", "channelFrom") && !v.d.unsure[path]:
		v.add(path, "mention", "has no effect: the team has neither channel nor webhookFile")
	}
}

// quietHours checks the quiet hours of the team at a path.
func (v *validator) quietHours(team string, q QuietHours) {
	path := join(team, "quietHours")
	if !v.given(team, "quietHours") || v.d.unsure[path] {
		return
	}
	from, to := v.given(path, "from"), v.given(path, "to")
	if !from && !to && !v.given(path, "timeZone") {
		return // an empty section is the same as a missing one
	}
	if !from {
		v.missing(path, "from", false, "set the time at which the quiet hours begin, such as 22:00")
	}
	if !to {
		v.missing(path, "to", false, "set the time at which the quiet hours end, such as 07:00")
	}
	if from && to && q.From == q.To {
		v.add(path, "to", "%s is also when they begin: to never notify a team, use reportOnly: true", q.To)
	}
}

func (v *validator) webhook() {
	w := v.c.Webhook
	v.file("webhook", "secretFile", w.SecretFile, "secret")
	if holdsSecret(string(w.URL)) {
		v.add("webhook", "url", "is the URL of a Slack incoming webhook, which is a secret: write it to a file and set slack.webhookFile of a team to its path")
	}
	if v.d.unsure["webhook"] {
		return
	}
	url, secret := v.given("webhook", "url"), v.given("webhook", "secretFile")
	switch {
	case url && !secret:
		v.missing("webhook", "secretFile", false, "set the path of the file with the key that signs messages")
	case secret && !url:
		v.missing("webhook", "url", false, "set the URL that messages are sent to")
	}
}

func (v *validator) pushgateway() {
	const section = "pushgateway"
	p := &v.c.Pushgateway
	v.file(section, "bearerTokenFile", p.BearerTokenFile, "token")
	v.file(section, "caFile", p.CAFile, "certificate")
	v.file(section, "certFile", p.CertFile, "certificate")
	v.file(section, "keyFile", p.KeyFile, "key")
	set := false
	for _, key := range []string{"basicAuth", "bearerTokenFile", "caFile", "certFile", "keyFile"} {
		set = set || v.given(section, key)
	}
	switch {
	case set && !v.given(section, "url"):
		v.missing(section, "url", false, "nothing is pushed without it, and the other keys have no effect")
	case p.URL != "" && v.c.Cluster == "":
		// In a pod the API server has the same address in every cluster, so clusters
		// would overwrite each other's metrics.
		v.missing("", "cluster", v.given("", "cluster"), "metrics are pushed under the cluster name")
	}
	v.basicAuth(section)
	if v.given(section, "basicAuth") && v.given(section, "bearerTokenFile") {
		v.add(section, "bearerTokenFile", "conflicts with basicAuth: use one of them")
	}
	if (p.CertFile == "") != (p.KeyFile == "") {
		missing, there := "keyFile", "certFile"
		if p.CertFile == "" {
			missing, there = there, missing
		}
		if !v.given(section, missing) {
			v.missing(section, missing, false, there+" has no effect without it")
		}
	}
	if strings.HasPrefix(strings.ToLower(string(p.URL)), "http:") {
		for _, key := range []string{"caFile", "certFile", "keyFile"} {
			if v.given(section, key) {
				v.add(section, key, "has no effect with a URL that begins with http://")
			}
		}
	}
}

func (v *validator) basicAuth(section string) {
	path := join(section, "basicAuth")
	if !v.given(section, "basicAuth") || v.d.unsure[path] {
		return
	}
	b := &v.c.Pushgateway.BasicAuth
	v.printableName(path, "username", b.Username)
	switch {
	case b.Username == "":
		v.missing(path, "username", v.given(path, "username"), "basic authentication needs a user name")
	case strings.Contains(b.Username, ":"):
		v.add(path, "username", "%s contains a colon, which ends a user name", shown(b.Username))
	}
	if !v.given(path, "passwordFile") {
		v.missing(path, "passwordFile", false, "write the password to a file and use the path of the file")
	}
	v.file(path, "passwordFile", b.PasswordFile, "password")
}

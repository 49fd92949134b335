package config

// This file checks how owners are told.

func (v *validator) slack() {
	v.file("slack", "tokenFile", v.c.Slack.TokenFile, "token")
	from, path := v.c.Slack.ChannelFrom, "slack.channelFrom"
	if !v.given("slack", "channelFrom") || v.d.unsure[path] {
		return
	}
	key, globs := v.given(path, "namespaceAnnotation"), v.given(path, "allow")
	switch {
	case key && from.NamespaceAnnotation == "", globs && !key:
		v.missing(path, "namespaceAnnotation", key, "name the annotation of a Namespace that holds its channel")
	case key:
		if err := checkLabelKey(from.NamespaceAnnotation); err != nil {
			v.add(path, "namespaceAnnotation", "%s", err)
		}
	}
	if len(from.Allow) == 0 && (globs || key) {
		v.missing(path, "allow", globs, `name the channels that it may hold, such as "team-*"`)
	}
}

func (v *validator) teamSlack(path string, s *TeamSlack) {
	v.file(path, "webhookFile", s.WebhookFile, "webhook's URL")
	channel, webhook := v.given(path, "channel"), v.given(path, "webhookFile")
	switch {
	case channel && webhook:
		v.add(path, "webhookFile", "stands beside channel: name one of them")
	// The channel may come from a Namespace.
	case v.given(path, "mention") && !channel && !webhook && !v.given("slack", "channelFrom") && !v.d.unsure[path]:
		v.add(path, "mention", "calls nobody: the team has neither channel nor webhookFile")
	}
}

// quietHours checks those of a team, which stands at a path.
func (v *validator) quietHours(team string, q QuietHours) {
	path := join(team, "quietHours")
	if !v.given(team, "quietHours") || v.d.unsure[path] {
		return
	}
	from, to := v.given(path, "from"), v.given(path, "to")
	if !from && !to && !v.given(path, "timeZone") {
		return // a section without anything in it is as good as none
	}
	if !from {
		v.missing(path, "from", false, "say when the quiet hours begin, such as 22:00")
	}
	if !to {
		v.missing(path, "to", false, "say when the quiet hours are over, such as 07:00")
	}
	if from && to && q.From == q.To {
		v.add(path, "to", "%s is when they begin: a team that is never told anything has reportOnly: true", q.To)
	}
}

func (v *validator) webhook() {
	w := v.c.Webhook
	v.file("webhook", "secretFile", w.SecretFile, "secret")
	if holdsSecret(string(w.URL)) {
		v.add("webhook", "url", "is the URL of an incoming webhook of Slack, which is a secret: write it to a file and name that as slack.webhookFile of a team")
	}
	if v.d.unsure["webhook"] {
		return
	}
	url, secret := v.given("webhook", "url"), v.given("webhook", "secretFile")
	switch {
	case url && !secret:
		v.missing("webhook", "secretFile", false, "name the file with the key by which messages are signed")
	case secret && !url:
		v.missing("webhook", "url", false, "say where messages are sent to")
	}
}

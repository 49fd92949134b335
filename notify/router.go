package notify

import (
	"slices"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
)

// Route is how one owner is notified.
type Route struct {
	Sender string // name
	To     Recipient
	// Quiet is true in the recipient's quiet hours: what is pending waits.
	Quiet bool
	// Fallback is the route to the fallback owner, used if this one is refused; nil if
	// there is none, or this is it.
	Fallback *Route
}

// Routes returns the routes to an owner for findings of a rule, at most one per sender.
// There are none to an owner who is not notified, or cannot be reached.
type Routes func(rule, owner string) []Route

// Senders returns the names of the senders that notify an owner of findings of a rule,
// in the order of the routes.
func (r Routes) Senders(rule, owner string) []string {
	var out []string
	for _, route := range r(rule, owner) {
		out = append(out, route.Sender)
	}
	return out
}

func (r Routes) bySender(sender, rule, owner string) (Route, bool) {
	for _, route := range r(rule, owner) {
		if route.Sender == sender {
			return route, true
		}
	}
	return Route{}, false
}

// SameReader reports whether an owner is notified in the channel in which another one was,
// who has no place of their own anymore: the team was renamed.
func (r Routes) SameReader(rule string, was audit.Notification, owner string) bool {
	if was.Message.Channel == "" {
		return false
	}
	if route, ok := r.bySender(was.Sender, rule, was.Owner); ok && route.To.Owner == was.Owner {
		return false
	}
	route, ok := r.bySender(was.Sender, rule, owner)
	return ok && route.To.Owner == owner && route.To.Address == was.Message.Channel
}

// Router finds the routes to owners from the config, and from the annotations of their
// Namespaces where the config permits that.
type Router struct {
	Config    *config.Config
	Ownership []audit.NamespaceOwner
	Now       time.Time
	// HasSender reports whether there is a sender of that name.
	HasSender func(name string) bool
	// IncludeReportOnly ignores reportOnly in the config.
	IncludeReportOnly bool
}

// Routes returns the routes to owners.
func (r *Router) Routes() Routes {
	channels := audit.ChannelNamespaces(r.Ownership)
	return func(rule, owner string) []Route {
		team := r.Config.Owners.Team(owner)
		if !r.IncludeReportOnly && (r.Config.ReportOnly(rule) || team != nil && team.ReportOnly) {
			return nil
		}
		var out []Route
		if slack, ok := r.slackRoute(channels.Of(owner)); ok {
			out = append(out, slack)
		}
		if r.HasSender(WebhookName) {
			out = append(out, Route{Sender: WebhookName, To: Recipient{Owner: owner}, Quiet: r.inQuietHours(owner)})
		}
		return out
	}
}

// slackRoute returns the route to an owner in Slack, with that to the fallback owner.
func (r *Router) slackRoute(row audit.NamespaceOwner) (Route, bool) {
	fallback, hasFallback := r.ownRoute(audit.NamespaceOwner{Owner: r.Config.Owners.Fallback})
	own, ok := r.ownRoute(row)
	switch {
	case !ok:
		return fallback, hasFallback
	case hasFallback && own.To != fallback.To:
		own.Fallback = &fallback
	}
	return own, true
}

// ownRoute returns the route to an owner's own channel or webhook in Slack.
func (r *Router) ownRoute(row audit.NamespaceOwner) (Route, bool) {
	to := audit.DestinationOf(row, r.Config)
	if row.Owner == "" || to.From == audit.FromNone || to.From == audit.FromFallback {
		return Route{}, false
	}
	route := Route{Sender: SlackName, To: Recipient{Owner: row.Owner, Address: to.Channel}, Quiet: r.inQuietHours(row.Owner)}
	if to.WebhookFile != "" {
		route.Sender, route.To.Address = SlackWebhookName, to.WebhookFile
	}
	team := r.Config.Owners.Team(row.Owner)
	if team != nil {
		route.To.Mention = string(team.Slack.Mention)
		if team.ReportOnly && !r.IncludeReportOnly {
			return Route{}, false
		}
	}
	return route, r.HasSender(route.Sender)
}

func (r *Router) inQuietHours(owner string) bool {
	team := r.Config.Owners.Team(owner)
	return team != nil && team.QuietHours.Quiet(r.Now)
}

// ReportOnly counts the findings that no one is notified of because of reportOnly, and the
// digests that would be sent without it. It is nil if the config has no reportOnly.
func (r *Router) ReportOnly(findings []audit.Finding) *audit.ReportOnly {
	reportOnly := slices.ContainsFunc(r.Config.Owners.Teams, func(t config.Team) bool { return t.ReportOnly })
	for _, f := range findings {
		reportOnly = reportOnly || r.Config.ReportOnly(f.Rule)
	}
	for rule := range r.Config.Rules {
		reportOnly = reportOnly || r.Config.ReportOnly(rule)
	}
	if !reportOnly {
		return nil
	}
	all := *r
	all.IncludeReportOnly = true
	routes, allRoutes := r.Routes(), all.Routes()
	type digest struct {
		sender string
		to     Recipient
	}
	digests := map[digest]bool{}
	var out audit.ReportOnly
	for _, f := range findings {
		silenced := false
		for _, owner := range f.Owners {
			for _, route := range allRoutes(f.Rule, owner) {
				if now, ok := routes.bySender(route.Sender, f.Rule, owner); !ok || now.To != route.To {
					silenced = true
					digests[digest{route.Sender, route.To}] = true
				}
			}
		}
		if silenced {
			out.Findings++
		}
	}
	out.Messages = len(digests)
	return &out
}

package notify

import (
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
)

// The names of the senders, under which it is stored what was told.
const (
	SlackName        = "slack"         // by bot token
	SlackWebhookName = "slack-webhook" // by an incoming webhook, without threads
	WebhookName      = "webhook"       // JSON for anything else
)

// Router finds the way to owners: what the config says of them, and what their
// Namespaces do where it lets them.
type Router struct {
	Config    *config.Config
	Ownership []audit.NamespaceOwner
	Now       time.Time
	// Has reports whether there is a sender of that name.
	HasSender func(sender string) bool
	// Rehearsal also goes the ways that report-only closes.
	IncludeReportOnly bool
}

// Routes returns the ways to owners.
func (r *Router) Routes() Routes {
	channels := audit.ChannelNamespaces(r.Ownership)
	return func(rule, owner string) []Route {
		team := r.Config.Owners.Team(owner)
		if !r.IncludeReportOnly && (r.Config.Rules[rule].ReportOnly || team != nil && team.ReportOnly) {
			return nil
		}
		row, named := channels[owner]
		if !named {
			row = audit.NamespaceOwner{Owner: owner}
		}
		var out []Route
		if slack, ok := r.slackRoute(row); ok {
			out = append(out, slack)
		}
		if r.HasSender(WebhookName) {
			out = append(out, Route{Sender: WebhookName, To: Recipient{Owner: owner}, Quiet: r.inQuietHours(owner)})
		}
		return out
	}
}

// slack returns the way to an owner in Slack, with that to the fallback owner
// behind it.
func (r *Router) slackRoute(row audit.NamespaceOwner) (Route, bool) {
	fallback, other := r.ownRoute(audit.NamespaceOwner{Owner: r.Config.Owners.Fallback})
	own, ok := r.ownRoute(row)
	switch {
	case !ok:
		return fallback, other
	case other && own.To != fallback.To:
		own.Fallback = &fallback
	}
	return own, true
}

// place returns the way to where an owner itself is told.
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

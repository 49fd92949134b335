package notify

import (
	"slices"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
)

// Silence counts the findings of which report-only lets nobody be told, and the
// digests that they would make. It is nil where nothing is report-only.
func (r *Router) Silenced(findings []audit.Finding) *audit.ReportOnly {
	quietTeam := slices.ContainsFunc(r.Config.Owners.Teams, func(t config.Team) bool { return t.ReportOnly })
	quietRule := false
	for _, rule := range r.Config.Rules {
		quietRule = quietRule || rule.ReportOnly
	}
	if !quietTeam && !quietRule {
		return nil
	}
	would := *r
	would.IncludeReportOnly = true
	routes, rehearsed := r.Routes(), would.Routes()
	var out audit.ReportOnly
	type digest struct {
		sender string
		to     Recipient
	}
	digests := map[digest]bool{}
	for _, f := range findings {
		silenced := false
		for _, owner := range f.Owners {
			for _, route := range rehearsed(f.Rule, owner) {
				told := slices.ContainsFunc(routes(f.Rule, owner), func(o Route) bool { return o.Sender == route.Sender && o.To == route.To })
				if !told {
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

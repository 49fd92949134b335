package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
)

// results adds what a complete sweep found.
func results(to prometheus.Registerer, s *Sweep, v *LabelValues) {
	p := set{to}
	p.findings(s, v)
	p.owners(s, v)
	p.resolved(s, v)
	p.objects(s, v)
	p.exceptions(s)
	p.value("audit_dropped_violations",
		"Violations that the last complete sweep dropped because a live re-read did not confirm them.", float64(len(s.Published.Dropped)))
	p.value("audit_last_complete_timestamp_seconds",
		"When the last complete sweep ended. A sweep is complete if everything was read, evaluated and stored.", seconds(s.Ended))
}

// records calls each for every finding that is stored after the sweep.
func (s *Sweep) records(each func(audit.Record)) {
	for _, t := range s.Published.Transitions {
		if !t.Delete {
			each(t.Record)
		}
	}
}

// findings has a series for every severity and state of the rules that ran, so that
// a count of zero is a value and not a gap.
func (p set) findings(s *Sweep, v *LabelValues) {
	known := v.rules()
	count, oldest := map[key]float64{}, map[key]float64{}
	for _, o := range s.Result.Rules {
		for _, severity := range []rules.Severity{rules.Low, rules.Medium, rules.High} {
			for _, state := range []audit.State{audit.StatePending, audit.StateOpen, audit.StateResolved} {
				count[key{known.of(o.Rule), severity.String(), lower(state)}] = 0
			}
		}
	}
	s.records(func(r audit.Record) {
		rule, severity := known.of(r.Rule), r.Severity.String()
		count[key{rule, severity, lower(r.State)}]++
		if r.State == audit.StateOpen {
			keepLeast(oldest, key{rule, severity}, seconds(r.OpenedAt))
		}
	})
	p.values("audit_findings", "Stored findings by rule, severity and state. Resolved findings are counted until they are deleted.",
		[]string{"rule", "severity", "state"}, count)
	p.values("audit_oldest_open_finding_timestamp_seconds", "When the oldest open finding was opened, by rule and severity.",
		[]string{"rule", "severity"}, oldest)
}

// owners names owners in the registry only.
func (p set) owners(s *Sweep, v *LabelValues) {
	known, owners := v.rules(), v.owners()
	count := map[key]float64{}
	s.records(func(r audit.Record) {
		if r.State != audit.StateOpen {
			return
		}
		// A finding with two owners that are not named counts once for "other".
		names := map[string]bool{}
		for _, o := range r.Owners {
			names[owners.of(o)] = true
		}
		for o := range names {
			count[key{known.of(r.Rule), o}]++
		}
	})
	p.values("audit_owner_findings", "Open findings by rule and owner. A finding with several owners counts once for each. Owners that the config does not name are counted as \"other\".",
		[]string{"rule", "owner"}, count)
}

// resolved has how long resolved findings had been open. Findings that were closed
// because their rule was retired or their config changed don't count.
func (p set) resolved(s *Sweep, v *LabelValues) {
	known := v.rules()
	took := map[string][]float64{}
	s.records(func(r audit.Record) {
		if r.State == audit.StateResolved && r.Reason == audit.ReasonResolved && !r.OpenedAt.IsZero() {
			rule := known.of(r.Rule)
			took[rule] = append(took[rule], r.ResolvedAt.Sub(r.OpenedAt).Seconds())
		}
	})
	half, most := map[key]float64{}, map[key]float64{}
	for rule, list := range took {
		half[key{rule}] = quantile(list, 0.5)
		most[key{rule}] = quantile(list, 0.9)
	}
	p.values("audit_time_to_resolve_median_seconds", "Median time for which the stored resolved findings were open.", []string{"rule"}, half)
	p.values("audit_time_to_resolve_p90_seconds", "90th percentile of the time for which the stored resolved findings were open.", []string{"rule"}, most)
}

func (p set) objects(s *Sweep, v *LabelValues) {
	kinds := v.kinds()
	items := map[key]float64{}
	for _, r := range s.Result.Reads {
		items[key{kinds.of(string(r.Kind))}] += float64(r.Items)
	}
	p.values("audit_objects_read", "Objects read by the last complete sweep, by kind.", []string{"kind"}, items)
	p.value("audit_namespaces", "Namespaces in the last complete sweep.", float64(len(s.Result.Namespaces)))
	p.value("audit_namespaces_not_evaluated",
		"Namespaces whose policies could not be evaluated. Having no finding does not mean that they are isolated.", float64(s.Result.NotEvaluated()))
}

func (p set) exceptions(s *Sweep) {
	count := map[key]float64{{"active"}: 0, {"expired"}: 0, {"unused"}: 0}
	next := map[key]float64{}
	for _, u := range s.Result.Exceptions {
		switch {
		case u.Expired:
			count[key{"expired"}]++
			continue
		case u.Unused:
			count[key{"unused"}]++
		default:
			count[key{"active"}]++
		}
		keepLeast(next, key{}, seconds(u.Exception.Expires.End))
	}
	p.values("audit_exceptions", "Exceptions in the config by state: active, expired, or unused because they hide nothing.", []string{"state"}, count)
	p.values("audit_next_exception_expiry_timestamp_seconds", "When the next exception that has not expired will expire.", nil, next)
}

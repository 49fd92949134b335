package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
)

// picture puts in what a complete sweep shows.
func picture(to prometheus.Registerer, s *Sweep, v *Vocabulary) {
	p := set{to}
	p.findings(s, v)
	p.owners(s, v)
	p.resolved(s, v)
	p.objects(s, v)
	p.exceptions(s)
	p.value("audit_dropped_violations",
		"Violations that the last complete sweep dropped, since they did not survive a second look.", float64(len(s.Published.Dropped)))
	p.value("audit_last_complete_timestamp_seconds",
		"When the last complete sweep ended: everything was read, judged and stored.", seconds(s.Ended))
}

// records calls each for the findings that are stored after the sweep.
func (s *Sweep) records(each func(audit.Record)) {
	for _, t := range s.Published.Transitions {
		if !t.Delete {
			each(t.Record)
		}
	}
}

// findings has a series for every severity and state of the rules that ran: a zero
// is no gap.
func (p set) findings(s *Sweep, v *Vocabulary) {
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
			keep(oldest, key{rule, severity}, seconds(r.OpenedAt))
		}
	})
	p.values("audit_findings", "Findings by rule, severity and state. Those that are resolved are counted as long as they are kept.",
		[]string{"rule", "severity", "state"}, count)
	p.values("audit_oldest_open_finding_timestamp_seconds", "When the oldest of the findings that are open was opened.",
		[]string{"rule", "severity"}, oldest)
}

// owners names those of the registry only.
func (p set) owners(s *Sweep, v *Vocabulary) {
	known, owners := v.rules(), v.owners()
	count := map[key]float64{}
	s.records(func(r audit.Record) {
		if r.State != audit.StateOpen {
			return
		}
		// Two who are not named are one "other", and the finding is one.
		told := map[string]bool{}
		for _, o := range r.Owners {
			told[owners.of(o)] = true
		}
		for o := range told {
			count[key{known.of(r.Rule), o}]++
		}
	})
	p.values("audit_owner_findings", "Open findings by rule and owner: one that several own counts for each. Owners that the config does not name are other.",
		[]string{"rule", "owner"}, count)
}

// resolved tells how long findings were open that were mended. Those that are no
// longer asked for, nobody mended.
func (p set) resolved(s *Sweep, v *Vocabulary) {
	known := v.rules()
	took := map[string][]float64{}
	s.records(func(r audit.Record) {
		if r.State == audit.StateResolved && r.Reason == audit.ReasonResolved && !r.OpenedAt.IsZero() {
			rule := known.of(r.Rule)
			took[rule] = append(took[rule], r.ResolvedAt.Sub(r.OpenedAt).Seconds())
		}
	})
	half, most := map[key]float64{}, map[key]float64{}
	for _, rule := range sortedKeys(took) {
		half[key{rule}] = quantile(took[rule], 0.5)
		most[key{rule}] = quantile(took[rule], 0.9)
	}
	p.values("audit_time_to_resolve_median_seconds", "How long half of the resolved findings that are kept were open, at most.", []string{"rule"}, half)
	p.values("audit_time_to_resolve_p90_seconds", "How long nine in ten of the resolved findings that are kept were open, at most.", []string{"rule"}, most)
}

func (p set) objects(s *Sweep, v *Vocabulary) {
	kinds := v.kinds()
	items := map[key]float64{}
	for _, r := range s.Result.Reads {
		items[key{kinds.of(string(r.Kind))}] += float64(r.Items)
	}
	p.values("audit_objects_read", "Objects that the last complete sweep read, by kind.", []string{"kind"}, items)
	p.value("audit_namespaces", "Namespaces that the last complete sweep met.", float64(len(s.Result.Namespaces)))
	p.value("audit_namespaces_not_evaluated",
		"Namespaces whose policies could not be evaluated: that there is no finding on them says nothing.", float64(s.Result.NotEvaluated()))
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
		keep(next, key{}, seconds(u.Exception.Expires.End))
	}
	p.values("audit_exceptions", "Exceptions of the config: active, expired, or unused because they hide nothing.", []string{"state"}, count)
	p.values("audit_next_exception_expiry_timestamp_seconds", "When the next of the exceptions in force expires.", nil, next)
}

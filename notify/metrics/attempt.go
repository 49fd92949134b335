package metrics

import (
	"runtime"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/eventuallytrue/audit/audit"
)

// attempt puts in how a sweep went, and whether its picture was pushed.
func attempt(to prometheus.Registerer, s *Sweep, v *Vocabulary, unpushed bool) {
	a := set{to}
	a.value("audit_last_attempt_timestamp_seconds", "When the last sweep began, however it ended.", seconds(s.Began))
	a.value("audit_sweep_complete", "1 if the last sweep read, judged and stored everything, 0 if it did not.", truth(s.Complete()))
	a.value("audit_sweep_duration_seconds", "How long the last sweep took.", s.Ended.Sub(s.Began).Seconds())
	a.failures(s, unpushed)
	a.reads(s, v)
	a.rules(s, v)
	a.deliveries(s)
	a.phases(s)
	a.clients(s)
}

// build puts in which program it is.
func build(to prometheus.Registerer, v *Vocabulary) {
	set{to}.values("audit_build_info", "Always 1; the labels say which program it is.",
		[]string{"version", "goversion"}, map[key]float64{{strings.ToValidUTF8(v.Version, "?"), runtime.Version()}: 1})
}

// stamp puts in that a sweep succeeded.
func stamp(to prometheus.Registerer, s *Sweep) {
	set{to}.value("audit_last_success_timestamp_seconds",
		"When the last sweep ended in which nothing failed: it was complete, and all owners were told.", seconds(s.Ended))
}

func (a set) failures(s *Sweep, unpushed bool) {
	n := s.failures()
	if unpushed {
		n[failedPush]++
	}
	series := map[key]float64{}
	for _, word := range failureWords() {
		series[key{word}] = float64(n[word])
	}
	a.values("audit_sweep_failures", "What the last sweep could not do, by what it was about.", []string{"failure"}, series)
}

// reads has one value for all kinds that are not in the vocabulary: 0 if one of
// them could not be read.
func (a set) reads(s *Sweep, v *Vocabulary) {
	readable := map[key]float64{}
	if s.Result != nil {
		kinds := v.kinds()
		for _, r := range s.Result.Reads {
			keep(readable, key{kinds.of(string(r.Kind))}, truth(r.Status.Known()))
		}
	}
	a.values("audit_kind_readable", "1 if the last sweep read the kind completely, or it is not served; 0 if what there is of it is unknown.",
		[]string{"kind"}, readable)
}

func (a set) rules(s *Sweep, v *Vocabulary) {
	status := map[key]float64{}
	if s.Result != nil {
		known := v.rules()
		for _, o := range s.Result.Rules {
			for _, word := range []audit.OutcomeStatus{audit.RuleRan, audit.RuleSkipped, audit.RuleFailed} {
				status[key{known.of(o.Rule), lower(word)}] += truth(o.Status == word)
			}
		}
	}
	a.values("audit_rule_status", "1 for what became of a rule in the last sweep: it ran, was skipped because a kind was not read, or failed.",
		[]string{"rule", "status"}, status)
}

// deliveries has every result of a sender that sent anything.
func (a set) deliveries(s *Sweep) {
	count := map[key]float64{}
	if s.Published != nil {
		var senders []string
		for _, d := range s.Published.Deliveries {
			senders = append(senders, d.Sender)
		}
		known := newWords(senders, maxSenders)
		for _, d := range s.Published.Deliveries {
			sender := known.of(d.Sender)
			for _, result := range []audit.DeliveryResult{audit.DeliverySent, audit.DeliveryFailed, audit.DeliveryRefused, audit.DeliveryHeld} {
				count[key{sender, lower(result)}] += truth(d.Result == result)
			}
		}
	}
	a.values("audit_deliveries", "Messages to owners in the last sweep, by what sends them and what became of them.", []string{"sender", "result"}, count)
}

func (a set) phases(s *Sweep) {
	took := map[key]float64{}
	if s.Result != nil {
		for _, p := range s.Result.Phases {
			took[key{p.Name}] += p.Took.Seconds()
		}
	}
	a.values("audit_phase_duration_seconds", "How long each phase of the last sweep took.", []string{"phase"}, took)
}

func (a set) clients(s *Sweep) {
	requests, retries, bytes := map[key]float64{}, map[key]float64{}, map[key]float64{}
	for _, c := range s.Clients {
		requests[key{c.Name}] = float64(c.Requests)
		retries[key{c.Name}] = float64(c.Retries)
		bytes[key{c.Name}] = float64(c.Bytes)
	}
	a.values("audit_api_requests", "Requests to the API server in the last sweep, each try counted.", []string{"client"}, requests)
	a.values("audit_api_retries", "Requests to the API server in the last sweep that were repeated.", []string{"client"}, retries)
	a.values("audit_api_response_bytes", "What the API server answered in the last sweep, uncompressed.", []string{"client"}, bytes)
}

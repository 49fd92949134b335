package metrics

import (
	"runtime"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/eventuallytrue/audit/audit"
)

// attempt adds how a sweep went, and whether its results were pushed.
func attempt(to prometheus.Registerer, s *Sweep, v *LabelValues, unpushed bool) {
	a := set{to}
	a.value("audit_last_attempt_timestamp_seconds", "When the last sweep began, whether or not it succeeded.", seconds(s.Began))
	a.value("audit_sweep_complete", "1 if the last sweep read, evaluated and stored everything, apart from single objects (audit_object_faults), otherwise 0.", truth(s.Complete()))
	a.value("audit_sweep_duration_seconds", "Duration of the last sweep.", s.Ended.Sub(s.Began).Seconds())
	a.failures(s, unpushed)
	a.reads(s, v)
	a.faults(s, v)
	a.rules(s, v)
	a.deliveries(s)
	a.overflow(s)
	a.phases(s)
	a.clients(s)
}

// build adds the version of the program.
func build(to prometheus.Registerer, v *LabelValues) {
	set{to}.values("audit_build_info", "Always 1. The labels have the version of audit and of Go.",
		[]string{"version", "goversion"}, map[key]float64{{strings.ToValidUTF8(v.Version, "?"), runtime.Version()}: 1})
}

// success adds when a sweep succeeded.
func success(to prometheus.Registerer, s *Sweep) {
	set{to}.value("audit_last_success_timestamp_seconds",
		"When the last successful sweep ended. A sweep is successful if it was complete and no delivery failed.", seconds(s.Ended))
}

// faults counts the objects that could not be evaluated.
func (a set) faults(s *Sweep, v *LabelValues) {
	if s.Result == nil {
		return
	}
	owners, n := v.owners(), map[key]float64{{other}: 0}
	for _, f := range s.Result.Faults {
		n[key{owners.of(f.Owner)}]++
	}
	a.values("audit_object_faults", "Objects that the last sweep could not read or evaluate, by owner of their namespace. Owners that the config does not name are counted as \"other\".",
		[]string{"owner"}, n)
}

func (a set) failures(s *Sweep, unpushed bool) {
	n := s.failures()
	if unpushed {
		n[failedPush]++
	}
	series := map[key]float64{}
	for _, phase := range failedPhases() {
		series[key{phase}] = float64(n[phase])
	}
	a.values("audit_sweep_failures", "Failures in the last sweep, by phase.", []string{"phase"}, series)
}

// reads has one value for all kinds that are not allowed by name: 0 if any of them
// could not be read.
func (a set) reads(s *Sweep, v *LabelValues) {
	readable := map[key]float64{}
	if s.Result != nil {
		kinds := v.kinds()
		for _, r := range s.Result.Reads {
			keepLeast(readable, key{kinds.of(string(r.Kind))}, truth(r.Status.Known()))
		}
	}
	a.values("audit_kind_readable", "1 if the last sweep read the kind completely or the API server does not serve it, 0 if the kind could not be read.",
		[]string{"kind"}, readable)
}

func (a set) rules(s *Sweep, v *LabelValues) {
	status := map[key]float64{}
	if s.Result != nil {
		names := v.rules()
		for _, o := range s.Result.Rules {
			for _, word := range []audit.OutcomeStatus{audit.RuleRan, audit.RuleSkipped, audit.RuleFailed} {
				status[key{names.of(o.Rule), lower(word)}] += truth(o.Status == word)
			}
		}
	}
	a.values("audit_rule_status", "1 for the status of the rule in the last sweep: ran, skipped because a kind could not be read, or failed. 0 for the others.",
		[]string{"rule", "status"}, status)
}

// deliveries has every result of each sender that was used.
func (a set) deliveries(s *Sweep) {
	count := map[key]float64{}
	if s.Published != nil {
		var senders []string
		for _, d := range s.Published.Deliveries {
			senders = append(senders, d.Sender)
		}
		names := allow(senders, maxSenders)
		for _, d := range s.Published.Deliveries {
			sender := names.of(d.Sender)
			for _, result := range []audit.DeliveryResult{audit.DeliverySent, audit.DeliveryFailed, audit.DeliveryRefused, audit.DeliveryHeld} {
				count[key{sender, lower(result)}] += truth(d.Result == result)
			}
		}
	}
	notReady := map[key]float64{{"slack"}: 0, {"slack-webhook"}: 0, {"webhook"}: 0}
	if s.Published != nil {
		for _, d := range s.Published.Deliveries {
			if d.NotReady {
				notReady[key{d.Sender}]++
			}
		}
	}
	a.values("audit_sender_not_ready", "Secrets of the sender that the last sweep could not read. Nothing is sent without them; a sweep that publishes nothing reads none.", []string{"sender"}, notReady)
	a.values("audit_deliveries", "Messages to owners in the last sweep, by sender and result: sent, failed, refused by the receiver, or held for quiet hours.", []string{"sender", "result"}, count)
}

// overflow counts what is beyond a limit: findings that are not stored one by one, and
// owners who are not notified because a finding has too many.
func (a set) overflow(s *Sweep) {
	n := 0
	if s.Published != nil {
		n = s.Published.OwnersNotNotified()
	}
	notStored := 0
	if s.Published != nil {
		notStored = s.Published.NotStored
	}
	a.value("audit_unstored_findings", "Findings that are only counted, because one namespace has caused more than limits.storedFindings.", float64(notStored))
	a.value("audit_owners_not_notified", "Owners who are not notified of open findings because a finding has too many. The fallback owner is notified in their place.", float64(n))
}

func (a set) phases(s *Sweep) {
	took := map[key]float64{}
	if s.Result != nil {
		for _, p := range s.Result.Phases {
			took[key{p.Name}] += p.Took.Seconds()
		}
	}
	a.values("audit_phase_duration_seconds", "Duration of each phase of the last sweep.", []string{"phase"}, took)
}

func (a set) clients(s *Sweep) {
	requests, retries, bytes := map[key]float64{}, map[key]float64{}, map[key]float64{}
	for _, c := range s.Clients {
		requests[key{c.Name}] = float64(c.Requests)
		retries[key{c.Name}] = float64(c.Retries)
		bytes[key{c.Name}] = float64(c.Bytes)
	}
	a.values("audit_api_requests", "Requests to the API server in the last sweep, including retries.", []string{"client"}, requests)
	a.values("audit_api_retries", "Retried requests to the API server in the last sweep.", []string{"client"}, retries)
	a.values("audit_api_response_bytes", "Uncompressed size of the responses of the API server in the last sweep.", []string{"client"}, bytes)
}

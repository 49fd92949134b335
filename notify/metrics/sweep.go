// Package metrics exports the results of sweeps to Prometheus, by serving them or by
// pushing them to a Pushgateway.
//
// There are three sets of metrics. The results are the findings and what they are
// based on; they come from complete sweeps only, because a finding that an
// incomplete sweep lacks may still exist. The attempt is how the last sweep went,
// however it ended. The success is the time of the last sweep in which nothing
// failed. Each is a group of its own at a Pushgateway, replaced as a whole: series
// of resolved findings disappear, and a failed sweep leaves the last complete
// results in place. In a long-running process an Exporter serves the three together.
//
// Every metric is a gauge that describes one sweep. A CronJob's pod starts its
// counters from zero, so there is nothing to take a rate of; and a pushed age would
// stop growing, so ages are exported as the timestamp they are counted from.
//
// No label value can be chosen by a tenant of the cluster. Values are words of the
// program, rules, kinds of objects, or owners in the config's registry; everything
// else is counted as "other".
package metrics

import (
	"time"

	"github.com/eventuallytrue/audit/audit"
)

// Sweep is the outcome of one sweep, however it ended.
type Sweep struct {
	Began, Ended time.Time
	// Result is nil if the sweep ended before anything was evaluated, and Published
	// is nil if nothing was published. Err is the reason.
	Result    *audit.Result
	Published *audit.Published
	Err       error
	// Clients are the clients of the API server that the sweep used.
	Clients []Client
}

// Client is the use that one client made of the API server in this sweep.
type Client struct {
	Name string // a word of the program
	// Requests counts every attempt, Retries those that repeat an earlier one, and
	// Bytes the response bodies.
	Requests, Retries, Bytes int64
}

// The phases in which a sweep can fail.
const (
	failedRead     = string(audit.StageRead)     // kinds and documents that were not read
	failedEvaluate = string(audit.StageEvaluate) // rules that failed
	failedStore    = string(audit.StageStore)    // findings that were not written
	failedDeliver  = string(audit.StageDeliver)  // messages that were not sent
	failedPush     = string(audit.StagePush)     // results that were not pushed
	failedOther    = "other"                     // what ended the sweep early
)

func failedPhases() []string {
	return []string{failedRead, failedEvaluate, failedStore, failedDeliver, failedPush, failedOther}
}

// Complete reports whether everything was read, evaluated and stored, so that no
// finding is missing, except those of single objects that could not be evaluated, which
// are counted by themselves. It does not say whether owners were notified.
func (s *Sweep) Complete() bool {
	return s.Err == nil && s.Result != nil && s.Result.Swept() && s.Published != nil && len(s.Published.Failed) == 0
}

// Succeeded reports whether nothing failed.
func (s *Sweep) Succeeded() bool {
	return s.Complete() && s.undelivered() == 0 && len(s.Published.Problems) == 0
}

// undelivered counts the messages that failed. One held until quiet hours end has
// not failed.
func (s *Sweep) undelivered() int {
	if s.Published == nil {
		return 0
	}
	return len(audit.Undelivered(s.Published.Deliveries))
}

// failures counts what failed, by phase.
func (s *Sweep) failures() map[string]int {
	n := map[string]int{}
	if s.Err != nil {
		n[failedOther] = 1
	}
	if s.Result == nil {
		return n
	}
	for _, f := range s.Result.Failures() {
		if f.Stage != audit.StagePublish { // which is Err
			n[string(f.Stage)]++
		}
	}
	return n
}

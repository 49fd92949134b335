package metrics

import (
	"time"

	"github.com/eventuallytrue/audit/audit"
)

// Sweep is what one sweep came to, however it ended.
type Sweep struct {
	Began, Ended time.Time
	// Result is nil where the sweep ended before anything was judged, Published
	// where nothing was published. Err is why.
	Result    *audit.Result
	Published *audit.Published
	Err       error
	// Clients are those that asked the API server for something.
	Clients []Client
}

// Client is one client of the API server, with what it asked for in this sweep.
type Client struct {
	Name string // a word of the program
	// Requests counts every try, Retries those among them that were repeated, and
	// Bytes what was answered.
	Requests, Retries, Bytes int64
}

// The ways in which a sweep can fail.
const (
	failedRead    = "read"    // kinds that were not read, and documents
	failedJudge   = "judge"   // rules that erred
	failedStore   = "store"   // findings that were not written
	failedDeliver = "deliver" // messages that were not sent
	failedPush    = "push"    // pictures that were not pushed
	failedOther   = "other"   // whatever ended the sweep before its end
)

func failureWords() []string {
	return []string{failedRead, failedJudge, failedStore, failedDeliver, failedPush, failedOther}
}

// Complete reports whether everything was read, judged and stored, so that the
// findings are the whole truth. That owners were told of them is another matter.
func (s *Sweep) Complete() bool {
	return s.Err == nil && s.Result != nil && s.Result.Complete() && s.Published != nil && len(s.Published.Failed) == 0
}

// Succeeded reports whether nothing failed.
func (s *Sweep) Succeeded() bool { return s.Complete() && s.undelivered() == 0 }

// undelivered counts the messages that failed. One that is held until a quiet hour
// is over has not.
func (s *Sweep) undelivered() int {
	n := 0
	if s.Published != nil {
		for _, d := range s.Published.Deliveries {
			if d.Result == audit.DeliveryFailed || d.Result == audit.DeliveryRefused {
				n++
			}
		}
	}
	return n
}

// failures counts what went wrong, by one of the words.
func (s *Sweep) failures() map[string]int {
	n := map[string]int{failedDeliver: s.undelivered()}
	if s.Err != nil {
		n[failedOther] = 1
	}
	if s.Published != nil {
		n[failedStore] = len(s.Published.Failed)
	}
	if s.Result == nil {
		return n
	}
	n[failedRead] = len(s.Result.Problems)
	for _, r := range s.Result.Reads {
		if !r.Status.Known() {
			n[failedRead]++
		}
	}
	for _, o := range s.Result.Rules {
		if o.Status == audit.RuleFailed {
			n[failedJudge]++
		}
	}
	return n
}

package report

import "time"

// The identity of the document that JSON and YAML hold.
const (
	APIVersion = "eventuallytrue.dev/v1alpha1"
	Kind       = "Report"
)

// Report is what a program reads of one sweep. Lists are never null and are
// sorted as audit.Result sorts them; strings that say nothing are left out, and
// so are times that are not known. Times are in UTC. Fields may be added, so a
// reader passes over those it does not know.
type Report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Cluster is the name that the config gives the cluster.
	Cluster    string    `json:"cluster,omitempty"`
	StartedAt  time.Time `json:"startedAt,omitzero"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	// Complete is true if everything was read and every rule ran. Where it is
	// false, what is not among the findings may be there all the same.
	Complete bool `json:"complete"`
	// Only are the namespaces that the report was narrowed to; left out where
	// it was not.
	Only       []string        `json:"only,omitempty"`
	Kinds      []KindRead      `json:"kinds"`
	Ignored    []IgnoredKind   `json:"ignored"`
	Problems   []Problem       `json:"problems"`
	Rules      []RuleOutcome   `json:"rules"`
	Findings   []Finding       `json:"findings"`
	Advisories []Advisory      `json:"advisories"`
	Isolation  []IsolationRead `json:"isolation"`
	// Deliveries are the digests for owners; left out where there were none.
	Deliveries []Delivery `json:"deliveries,omitempty"`
	// Messages are what would be sent, by a rehearsal; left out of all else.
	Messages []Message `json:"messages,omitempty"`
	// ReportOnly counts the findings of which nobody is told; left out where
	// nothing is report-only.
	ReportOnly *ReportOnly `json:"reportOnly,omitempty"`
}

// Delivery says what became of one digest: sent, failed (the next sweep tries
// again), refused (the config or the receiver has to change) or held (for the end
// of quiet hours).
type Delivery struct {
	Sender string `json:"sender"`
	Owner  string `json:"owner,omitempty"`
	Result string `json:"result"`
	Reason string `json:"reason,omitempty"`
}

// Message is a message that would be sent.
type Message struct {
	Sender  string `json:"sender"`
	Owner   string `json:"owner"`
	Address string `json:"address,omitempty"` // where the sender would find them
	Held    bool   `json:"held,omitempty"`    // until quiet hours are over
	Text    string `json:"text"`
}

// ReportOnly counts what is stored and not told.
type ReportOnly struct {
	Findings int `json:"findings"`
	// Messages is how many digests they would make, were they new and told.
	Messages int `json:"messages"`
}

// KindRead says how one kind was read.
type KindRead struct {
	Group    string `json:"group,omitempty"` // left out for the core group
	Version  string `json:"version,omitempty"`
	Resource string `json:"resource"` // the plural, such as "ingresses"
	Items    int    `json:"items"`
	// Status is listed or absent, of which everything is known, or forbidden or
	// failed, of which nothing is.
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
}

// KindPassed counts objects of a kind that no rule needs.
type IgnoredKind struct {
	Group   string `json:"group,omitempty"`
	Version string `json:"version,omitempty"`
	Kind    string `json:"kind"`
	Items   int    `json:"items"`
}

// Problem is something that could not be read and belongs to no one kind, such
// as a document that does not parse.
type Problem struct {
	Where  string `json:"where"`
	Reason string `json:"reason"`
}

// RuleOutcome says whether a rule judged: ran, skipped (a kind it needs was not
// read completely) or failed. Of a rule that did not run, findings that are not
// listed are unknown and not absent.
type RuleOutcome struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// Subject is the thing that is wrong. Rule and subject are the identity of a
// finding.
type Subject struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Detail    string `json:"detail,omitempty"`
}

// Object is an object that a finding rests on.
type Object struct {
	Group     string    `json:"group,omitempty"` // left out for the core group
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	Owner     string    `json:"owner,omitempty"` // left out where none is known
	CreatedAt time.Time `json:"createdAt,omitzero"`
	Reason    string    `json:"reason,omitempty"` // a word for its part in it
	Detail    string    `json:"detail,omitempty"` // more of it for people
}

// Finding is a broken invariant with its owners.
type Finding struct {
	// ID names the finding as long as the same thing is wrong, from sweep to
	// sweep.
	ID        string    `json:"id"`
	Rule      string    `json:"rule"`
	Severity  string    `json:"severity"` // low, medium or high
	Subject   Subject   `json:"subject"`
	Verdict   string    `json:"verdict,omitempty"`
	Owners    []string  `json:"owners"` // who is told
	Message   string    `json:"message"`
	Cause     string    `json:"cause,omitempty"`
	Remedy    string    `json:"remedy,omitempty"`
	State     string    `json:"state,omitempty"` // Pending, Open or Resolved
	FirstSeen time.Time `json:"firstSeen,omitzero"`
	Objects   []Object  `json:"objects"`
	// MoreObjects counts those that were left out of what is kept.
	MoreObjects int `json:"moreObjects,omitempty"`
}

// Advisory is worth a line, but is never a finding.
type Advisory struct {
	Rule    string   `json:"rule"` // the rule that gives it, or "config"
	Subject Subject  `json:"subject"`
	Owners  []string `json:"owners"`
	Message string   `json:"message"`
	Objects []Object `json:"objects"`
}

// IsolationRead is what the policies of one namespace amount to, one for each
// namespace that default-deny-present judged.
type IsolationRead struct {
	Namespace string `json:"namespace"`
	Workloads int    `json:"workloads"`
	Ingress   string `json:"ingress"` // present, missing or partial
	Egress    string `json:"egress"`  // present, missing or partial
	// Open says in which direction some policy admits everything: none,
	// ingress, egress, both, or partial for only some workloads.
	Open string `json:"open"`
	// Scope says how far open: all, world, cluster or tcp; left out for none.
	Scope   string    `json:"scope,omitempty"`
	Exempt  bool      `json:"exempt"` // by the config
	Exposed []Exposed `json:"exposed"`
	// NotEvaluated are kinds of policies that are not understood and may be
	// about the namespace: the row leaves them out, and there is no finding.
	NotEvaluated []string `json:"notEvaluated,omitempty"`
}

// Exposed is a workload whose pods are open.
type Exposed struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Direction string `json:"direction"` // ingress, egress or both
	Reason    string `json:"reason"`
}

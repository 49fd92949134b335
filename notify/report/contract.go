package report

import "time"

// The type of the JSON and YAML document.
const (
	APIVersion = "eventuallytrue.dev/v1alpha1"
	Kind       = "Report"
)

// Report is the result of one sweep for programs. Lists are never null and are sorted
// like those of audit.Result. Empty strings and unknown times are omitted. Times are
// in UTC. Fields may be added, so readers must ignore fields that they don't know.
type Report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Cluster is the name of the cluster in the config.
	Cluster    string    `json:"cluster,omitempty"`
	StartedAt  time.Time `json:"startedAt,omitzero"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	// Complete is true if everything was read and every rule ran. If it is false,
	// findings may be missing.
	Complete bool `json:"complete"`
	// Failures are the reasons for exit code 3, which a sweep has exactly if there are
	// any. A failure to read or to evaluate makes a sweep incomplete; others, such as a
	// message that was not delivered, do not.
	Failures []Failure `json:"failures"`
	// Namespaces are the namespaces that the report is limited to; omitted if it has
	// no such limit.
	Namespaces []string `json:"namespaces,omitempty"`
	// Selection is which findings the report has; omitted if it has all of them.
	Selection *SelectedFindings `json:"selection,omitempty"`
	Kinds     []KindRead        `json:"kinds"`
	Ignored   []IgnoredKind     `json:"ignored"`
	Problems  []Problem         `json:"problems"`
	// Faults are the objects that could not be read or evaluated, each of which makes
	// the sweep incomplete. What they claim, select or allow is unknown; nothing else is.
	Faults     []Fault         `json:"faults"`
	Rules      []RuleOutcome   `json:"rules"`
	Findings   []Finding       `json:"findings"`
	Advisories []Advisory      `json:"advisories"`
	Isolation  []IsolationRead `json:"isolation"`
	// Deliveries are the digests for owners; omitted if there are none.
	Deliveries []Delivery `json:"deliveries,omitempty"`
	// Messages are what a dry run would send.
	Messages []Message `json:"messages,omitempty"`
	// ReportOnly counts the findings that no one is notified of; omitted if nothing
	// is report-only.
	ReportOnly *ReportOnly `json:"reportOnly,omitempty"`
	// OwnerKey is a key that most Namespaces carry and that owners.keys may miss;
	// omitted if there is none.
	OwnerKey *OwnerKey `json:"ownerKey,omitempty"`
}

// OwnerKey is a label or an annotation that looks as if it named the owners of Namespaces.
type OwnerKey struct {
	Key  string `json:"key"`
	Sort string `json:"sort"` // label or annotation
	// Carry is the number of Namespaces that carry it, of Namespaces in all, without those
	// of Kubernetes itself.
	Carry      int `json:"carry"`
	Namespaces int `json:"namespaces"`
	// Names is the number of Namespaces without an owner that it would name an owner for.
	Names int `json:"names"`
}

// SelectedFindings are the findings that a report has, if flags narrow them. The exit
// code, rules and isolation are about all.
type SelectedFindings struct {
	Severity string   `json:"severity,omitempty"` // the lowest
	Owners   []string `json:"owners,omitempty"`   // any of them
	States   []string `json:"states,omitempty"`   // any of them, in lower case
	// Total is the number of findings with those that were left out.
	Total int `json:"total"`
}

// Failure is one reason for exit code 3.
type Failure struct {
	// Stage is what the sweep was doing: read, evaluate, publish (until the first
	// finding is stored), store, deliver or push.
	Stage string `json:"stage"`
	// Where is what it failed at, by stage: a kind or a document; a rule or a
	// namespace; findings; a finding; an owner and a sender; or metrics.
	Where  string `json:"where"`
	Reason string `json:"reason,omitempty"`
}

// Delivery is the result of sending one digest: sent, failed (the next sweep tries
// again), refused (the config or the receiver must change) or held (until quiet
// hours end).
type Delivery struct {
	Sender string `json:"sender"`
	Owner  string `json:"owner,omitempty"`
	Result string `json:"result"`
	Reason string `json:"reason,omitempty"`
}

// Message is a message that a dry run would send.
type Message struct {
	Sender  string `json:"sender"`
	Owner   string `json:"owner"`
	Address string `json:"address,omitempty"` // such as a channel
	Held    bool   `json:"held,omitempty"`    // until quiet hours end
	Text    string `json:"text"`
}

// ReportOnly counts findings that are stored without notifying anyone.
type ReportOnly struct {
	Findings int `json:"findings"`
	// Messages is the number of digests if the findings were new and not report-only.
	Messages int `json:"messages"`
}

// KindRead is how one kind was read.
type KindRead struct {
	Group    string `json:"group,omitempty"` // left out for the core group
	Version  string `json:"version,omitempty"`
	Resource string `json:"resource"` // the plural, such as "ingresses"
	Items    int    `json:"items"`
	// Status is listed or absent if the kind is known completely, and forbidden or
	// failed if nothing is known.
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
}

// IgnoredKind counts the objects of a kind that no rule needs.
type IgnoredKind struct {
	Group   string `json:"group,omitempty"`
	Version string `json:"version,omitempty"`
	Kind    string `json:"kind"`
	// RunsPods is true if its objects run workloads that no rule evaluates.
	RunsPods bool `json:"runsPods,omitempty"`
	Items    int  `json:"items"`
}

// Problem is something that failed, such as a document that cannot be parsed.
type Problem struct {
	Where  string `json:"where"`
	Reason string `json:"reason"`
	// Kind is the kind of the object that was lost, if rules evaluate it. Such problems
	// come first.
	Kind string `json:"kind,omitempty"`
}

// Fault is an object that could not be read or evaluated, with the owner of its
// namespace.
type Fault struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Owner     string `json:"owner,omitempty"`
	Reason    string `json:"reason"`
}

// RuleOutcome is whether a rule was evaluated: ran, skipped (a kind it needs was not
// read completely) or failed. Unless a rule ran, its missing findings are unknown, not
// absent.
type RuleOutcome struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// Subject is what a finding is about. Rule and subject identify a finding.
type Subject struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Detail    string `json:"detail,omitempty"`
}

// Object is an object that a finding is based on.
type Object struct {
	Group     string    `json:"group,omitempty"` // left out for the core group
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	Owner     string    `json:"owner,omitempty"` // omitted if unknown
	CreatedAt time.Time `json:"createdAt,omitzero"`
	Reason    string    `json:"reason,omitempty"` // one word for its role in the finding
	Detail    string    `json:"detail,omitempty"` // its role in words, for people
}

// Finding is a broken invariant with its owners.
type Finding struct {
	// ID stays the same in all sweeps that find the same violation.
	ID       string   `json:"id"`
	Rule     string   `json:"rule"`
	Severity string   `json:"severity"` // low, medium or high
	Subject  Subject  `json:"subject"`
	Verdict  string   `json:"verdict,omitempty"`
	Culprit  string   `json:"culprit,omitempty"` // the namespace that caused it
	Owners   []string `json:"owners"`            // who is notified
	Message  string   `json:"message"`
	Cause    string   `json:"cause,omitempty"`
	Remedy   string   `json:"remedy,omitempty"`
	// Fix is what would end the finding, as YAML with comments: an object to apply, or
	// comments with the commands that show what to change. Omitted if it is not known.
	Fix       string    `json:"fix,omitempty"`
	State     string    `json:"state,omitempty"` // Pending, Open or Resolved
	FirstSeen time.Time `json:"firstSeen,omitzero"`
	Objects   []Object  `json:"objects"`
	// MoreOwners counts owners who are not notified, because there are too many.
	MoreOwners int `json:"moreOwners,omitempty"`
	// MoreObjects counts objects that were not stored.
	MoreObjects int `json:"moreObjects,omitempty"`
}

// Advisory is worth a line in the report, but is never a finding.
type Advisory struct {
	Rule    string   `json:"rule"` // its rule, or "config"
	Subject Subject  `json:"subject"`
	Owners  []string `json:"owners"`
	Message string   `json:"message"`
	Objects []Object `json:"objects"`
}

// IsolationRead is the combined effect of the policies on one namespace. There is one
// for each namespace that default-deny-present evaluated.
type IsolationRead struct {
	Namespace string `json:"namespace"`
	Workloads int    `json:"workloads"`
	Ingress   string `json:"ingress"` // present, missing or partial
	Egress    string `json:"egress"`  // present, missing or partial
	// Open is the direction in which a policy allows everything: none, ingress,
	// egress, both, or partial if only for some workloads.
	Open string `json:"open"`
	// Scope is what is allowed: all, world, cluster or tcp; omitted if Open is none.
	Scope   string    `json:"scope,omitempty"`
	Exempt  bool      `json:"exempt"` // by the config
	Exposed []Exposed `json:"exposed"`
	// NotEvaluated are the kinds for which the namespace was not evaluated:
	// unsupported kinds of policies, and kinds that policies depend on and that were
	// not read. One that concerns a single direction is followed by it:
	// "ciliumcidrgroups.cilium.io (egress)". In that direction there is no finding, and
	// the row does not include what they may open.
	NotEvaluated []string `json:"notEvaluated,omitempty"`
}

// Exposed is a workload whose pods are not isolated.
type Exposed struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Direction string `json:"direction"` // ingress, egress or both
	Reason    string `json:"reason"`
}

// FindingList is the stored findings for programs.
type FindingList struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"` // FindingList
	Findings   []StoredFinding `json:"findings"`
}

// StoredFinding is a finding with its history.
type StoredFinding struct {
	Finding       `json:",inline"`
	Reason        string         `json:"reason,omitempty"` // of its state
	OpenedAt      time.Time      `json:"openedAt,omitzero"`
	ResolvedAt    time.Time      `json:"resolvedAt,omitzero"`
	Reopened      int            `json:"reopened,omitempty"` // how often it was opened again
	Storm         bool           `json:"storm,omitempty"`    // opened in a storm
	Notifications []Notification `json:"notifications,omitempty"`
}

// Notification is what one owner was sent about the finding by one sender, and what is
// pending.
type Notification struct {
	Sender  string    `json:"sender"`
	Owner   string    `json:"owner"`
	Pending string    `json:"pending,omitempty"`
	Last    string    `json:"last,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Channel string    `json:"channel,omitempty"` // of the message about the opening
	Message string    `json:"message,omitempty"`
	Error   string    `json:"error,omitempty"` // why the receiver refused it
}

// OwnerList is the owners of namespaces for programs.
type OwnerList struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"` // OwnerList
	Cluster    string           `json:"cluster"`
	Namespaces []NamespaceOwner `json:"namespaces"` // sorted by name
}

// NamespaceOwner is the owner of a namespace.
type NamespaceOwner struct {
	Namespace string `json:"namespace"`
	// Owner is the name that findings use for the owner.
	Owner string `json:"owner"`
	// DecidedBy is the claim or key that decided, fallback, or none.
	DecidedBy string `json:"decidedBy"`
	Registry  bool   `json:"registry"` // a team in the config claims it
	Shared    bool   `json:"shared"`   // owner keys of objects in it take precedence
	// Channel is the Slack channel in an annotation of the Namespace.
	Channel     string      `json:"channel,omitempty"`
	Allowed     bool        `json:"channelAllowed,omitempty"`
	Destination Destination `json:"destination"`
}

// Destination is where an owner is notified in Slack.
type Destination struct {
	From        string `json:"from"` // registry, annotation, fallback, none or reportOnly
	Channel     string `json:"channel,omitempty"`
	WebhookFile string `json:"webhookFile,omitempty"`
}

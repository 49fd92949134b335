package rules

// Isolation is what the policies of one namespace amount to, as
// default-deny-present judges them. The words are those of the report.
type Isolation struct {
	Namespace string
	Workloads int // live ones, without those in the host's network
	Ingress   IsolationState
	Egress    IsolationState
	Open      string // none, ingress, egress, both, partial
	Scope     string // all, world, cluster, tcp: how far open; empty if none
	Exempt    bool   // exempted by the config
	Exposed   []Exposed
	// NotEvaluated are the kinds of policies that nothing here understands and
	// that may be about the namespace: what stands in the row leaves them out.
	NotEvaluated []string
}

// Denial says whether traffic in one direction is denied by default.
type IsolationState string

// The denials there are.
const (
	Present IsolationState = "present"
	Missing IsolationState = "missing"
	Partial IsolationState = "partial"
)

// Exposed is a workload whose pods are open.
type Exposed struct {
	Kind, Name string
	Direction  string // ingress, egress, both
	Reason     string // a word of the verdict model, such as "not-selected"
}

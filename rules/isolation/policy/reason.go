package policy

// The reasons for which policies leave a pod open in a direction.
const (
	ReasonNoPolicy       = "no-policy"      // no policy of the namespace denies anything in that direction
	ReasonNotSelected    = "not-selected"   // policies do, but none of them selects its pods
	ReasonInvalidPolicy  = "invalid-policy" // the only policies there are cannot be in force
	ReasonAllowAll       = "allow-all"
	ReasonAllowWorld     = "allow-world"
	ReasonAllowCluster   = "allow-cluster"
	ReasonAllowAllTCP    = "allow-all-tcp"
	ReasonWorldNotDenied = "world-not-denied" // only the pods of the cluster are denied
)

// ReasonFor returns the reason for which a pod is open by rules.
func ReasonFor(s Scope) string {
	switch s {
	case ScopeAll:
		return ReasonAllowAll
	case ScopeWorld:
		return ReasonAllowWorld
	case ScopeCluster:
		return ReasonAllowCluster
	case ScopeTCP:
		return ReasonAllowAllTCP
	}
	return ""
}

// ScopeOf is the reverse of ReasonFor: empty for a pod that is open because
// nothing denies.
func ScopeOf(reason string) Scope {
	for _, s := range Scopes() {
		if ReasonFor(s) == reason {
			return s
		}
	}
	return ""
}

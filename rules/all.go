package rules

// All returns every rule, sorted by name.
func All() []*Rule {
	return []*Rule{
		DefaultDenyPresent(),
		KindReplicated(),
		OneOwnerPerHost(),
		OwnerKnown(),
	}
}

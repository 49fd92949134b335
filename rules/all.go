package rules

// All returns every rule, sorted by name.
func All() []*Rule {
	return []*Rule{
		DefaultDenyPresent(),
		OneOwnerPerHost(),
		OwnerKnown(),
	}
}

package snapshot

// place gives each policy that names a tier the tier's order. Where the tier
// denies nothing at its end, its policies isolate nothing. Tiers have one name in
// the group that serves them and in the one that stores them.
func place(policies []Policy, tiers []Tier) {
	known := map[string]*Tier{}
	for i := range tiers {
		known[tiers[i].Name] = &tiers[i]
	}
	for i := range policies {
		p := &policies[i]
		tier := known[p.TierName]
		if p.TierName == "" || tier == nil {
			continue
		}
		p.Tier = tier.Order
		if tier.Passes {
			p.Isolates = [2]bool{}
		}
	}
}

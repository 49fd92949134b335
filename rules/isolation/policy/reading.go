package policy

import "github.com/eventuallytrue/audit/rules/snapshot"

// Doubt is something that policies depend on and that is not known.
type Doubt struct {
	Kind snapshot.Kind // of what is not known
	Why  string        // empty for an unsupported kind of policies
}

// reading says how policies take what is not known. What holds in every reading holds
// whatever it is.
type reading struct {
	closed bool // so that it denies as much as it can, not so that it allows as much
	passes bool // so that it leaves as much to the next tier as it can
}

// readings are all readings. The first is the one of a Set that knows everything.
func readings() [4]reading {
	return [4]reading{{false, true}, {true, true}, {false, false}, {true, false}}
}

// everything reports whether what is not known about the peers of a rule is taken to
// be everything, not nothing.
func (r reading) everything(a snapshot.Action) bool {
	switch a {
	case snapshot.Pass:
		return r.passes
	case snapshot.Deny:
		return r.closed
	}
	return !r.closed
}

package snapshot

// Enforcement is the fact of an object that tells the network plugin to enforce
// no policy, of whatever kind: every connection is let through. One that leaves
// things as they are makes no fact.
type Enforcement struct {
	Meta
	// Off is the setting that switches enforcement off, as the object spells
	// it, such as "enable-policy: never".
	Off string
}

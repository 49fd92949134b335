package notify

// Route is a way to one owner.
type Route struct {
	Sender string // the name of the sender that goes it
	To     Recipient
	// Quiet is true while the recipient is to be left in peace: what is due waits.
	Quiet bool
	// Else is the way to the fallback owner, taken where this one is refused; nil
	// where there is none, or this is it.
	Fallback *Route
}

// Routes returns the ways to an owner of the findings of a rule, by sender. There
// are none to an owner who is not told, or cannot be reached.
type Routes func(rule, owner string) []Route

// Senders returns the names of the senders that tell an owner of the findings of a
// rule, sorted as the routes are.
func (r Routes) Senders(rule, owner string) []string {
	var out []string
	for _, route := range r(rule, owner) {
		out = append(out, route.Sender)
	}
	return out
}

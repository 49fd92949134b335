package report

import "github.com/eventuallytrue/audit/notify/visible"

// shown is text that may go to a terminal. The printing code takes no other
// text, and the compiler holds it to that: a constant becomes shown by itself, a
// variable only by show or by an open conversion, and one such stands only
// where the text is certainly ours.
type shown string

// show returns text of unknown origin with everything that a terminal would
// obey, hide or turn around written out as an escape.
func show(s string) shown { return shown(visible.Text(s)) }

// Safe returns text of unknown origin as a terminal may have it: what a terminal
// would obey, hide or turn around is written out as an escape.
func Safe(s string) string { return string(show(s)) }

// Cell is Safe for a column of a table that has no other bound: a text that is
// too long is cut in its middle, or one name would make every row as wide.
func Cell(s string) string { return string(cut(show(s), maxCell)) }

// maxCell is how many columns of a terminal a cell takes at most. Names of
// Namespaces have 63 characters.
const maxCell = 63

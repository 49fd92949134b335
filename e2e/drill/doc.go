// Package drill holds what publishers do to each other, and what ends them, against
// an API server that keeps an audit log. It is tests alone; make drill runs the one
// that prints a table, which docs/drill.md explains.
package drill

// Package drill tests concurrent, killed and interrupted publishers on an API server
// with an audit log. It contains only tests; make drill runs the one that prints the
// table in docs/drill.md.
package drill

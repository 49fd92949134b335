// Package audit is the sweep: it reads a source into a snapshot, lets the rules
// judge it, and makes findings with owners out of violations.
//
// Everything here is pure but for the Source it is given: no client, no clock,
// no printing. Where objects come from is the business of audit/kube and
// audit/manifests, where results go that of notify.
package audit

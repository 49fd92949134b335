// Package e2e installs the image with the chart on a whole node, where pods sweep the
// sample estate and notify a strict Slack. It contains only tests; `make e2e` runs them.
//
// The node's network does not enforce NetworkPolicies: those of the estate are
// evaluated, but that of the chart is not tested.
package e2e

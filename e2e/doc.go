// Package e2e holds what is installed against what was promised: the image, by the
// chart, with helm, on a whole node, where the sample estate is swept by the pods
// that come of it, and a strict Slack is told. It has tests alone; `make e2e` runs
// them.
//
// The network of the node enforces no NetworkPolicy: those of the estate are judged,
// and that of the chart is not tried.
package e2e

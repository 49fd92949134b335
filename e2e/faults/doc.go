// Package faults tests sweeps that publish and notify owners while the API server and
// Slack misbehave according to a seeded script, and checks the laws that hold
// whatever goes wrong. It contains only tests. Most
// runs are in memory, where each takes a tenth of a second of a processor: 10,000 take about
// ten minutes on two free ones (make faults FAULT_SEEDS=10000).
package faults

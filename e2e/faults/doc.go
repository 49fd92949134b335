// Package faults tests sweeps that publish and notify owners while the API server and
// Slack misbehave according to a seeded script, and checks the laws that hold
// whatever goes wrong. It contains only tests.
package faults

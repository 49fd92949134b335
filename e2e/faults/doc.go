// Package faults has tests alone: of sweeps that publish and tell owners while the
// API server and Slack misbehave by a seeded script, and of the laws that hold
// afterwards whatever went wrong.
package faults

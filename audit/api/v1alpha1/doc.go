// Package v1alpha1 holds the custom resources that audit stores: a Finding is one
// broken instance of an invariant, with owners and a state.
//
// The deepcopy functions and the definition, eventuallytrue.dev_findings.yaml, are
// generated from the types. A test fails when they are stale.
//
// +kubebuilder:object:generate=true
// +groupName=eventuallytrue.dev
package v1alpha1

//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0 object crd paths=. output:dir=.

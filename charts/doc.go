// Package charts contains the Helm chart that installs audit in a cluster, and the
// RBAC roles for running it from elsewhere.
//
// Two files in audit/files are generated from the code: the kinds that each rule reads,
// which the ClusterRole is based on, and the CustomResourceDefinition of findings. So is
// the config in audit/values.schema.json. The Go code of this package is tests only.
package charts

//go:generate go test . -run ^TestGenerated -update

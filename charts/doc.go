// Package charts holds the chart that installs audit in a cluster, and the rights
// that whoever runs it from elsewhere needs.
//
// What the chart must know of the code is generated into audit/files: the kinds
// that each rule reads, of which its ClusterRole is made, and the definition of
// findings. Everything else in this package is tests.
package charts

//go:generate go test . -run ^TestGenerated -update

// Package kube is what a sweep has to do with an API server: the live source that
// lists the objects of a cluster, the store that keeps findings as custom
// resources, the Lease by which publishers take turns, and Events on the objects of
// findings.
//
// Every read goes to the API server itself, a page at a time, and asks for what
// is stored at that moment: no informer, no cache, no older resource version.
// A page is turned into facts by package ingest and dropped. What could not be
// read to its end is thrown away and said so, never passed on as the whole.
//
// Which custom kinds there are, and in which versions, one request of discovery
// tells for all of them: those that are not served cost nothing more.
package kube

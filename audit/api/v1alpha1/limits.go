package v1alpha1

// The limits of a finding: letters of a text, items of a list. The schema has the same
// numbers, and a test compares the two. The largest possible finding, with letters that
// all take six bytes, still fits into the 1.5 MiB that etcd accepts in one request.
const (
	MaxRule          = 40
	MaxWord          = 63 // a kind, a reason, a verdict, the detail of a subject
	MaxName          = 253
	MaxSubjectName   = 512
	MaxTitle         = 1024
	MaxText          = 8192
	MaxDetail        = 512
	MaxOwners        = 100
	MaxNotifications = 100
	MaxError         = 128
	MaxObjects       = 100
)

package v1alpha1

// How much of each thing a finding holds: letters of a text, items of a list.
// The schema has the same numbers, and a test holds the two together. They are
// such that the longest finding there can be, all of it in letters that take six
// bytes each, is still below what etcd takes in one piece: 1.5 MiB.
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

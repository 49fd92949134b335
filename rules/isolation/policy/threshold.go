package policy

// nearlyAll is the part of addresses, ports, namespaces and pods that counts as all of
// them where traffic is admitted. What leaves out next to nothing, such as a cloud's
// metadata address, closes nothing; half of the internet is not the internet. Where
// traffic is denied, nothing less than everything counts.
const nearlyAll = 15.0 / 16

// few reports whether so many of all are at most what may be left out.
func few(left, all int) bool { return float64(left) <= (1-nearlyAll)*float64(all) }

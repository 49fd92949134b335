package snapshot

// HostSources stands for all kinds whose objects claim hosts as the config
// describes. Which kinds these are differs from cluster to cluster, so no rule can
// name them; the source says so with Builder.Expand.
const HostSources Kind = "hostsources.eventuallytrue.dev"

// HostObject is the fact of an object of one of the kinds behind HostSources: what
// it claims, as written.
type HostObject struct {
	Meta
	// Hosts are the hosts it claims, sorted. None of them is empty.
	Hosts []HostPattern
	// Invalid are the first few claimed values that are not hosts and can't be
	// compared with any, such as regular expressions.
	Invalid []string
	// Err is why it is not known what the object claims, empty if it could be
	// read.
	Err string
}

// HostPattern is a host that an object claims.
type HostPattern struct {
	Host string
	// Deep is true for a wildcard that covers any number of labels instead of one.
	Deep bool
}

// FromHostSource is the source of what a HostObject claims.
const FromHostSource HostSource = "host-source"

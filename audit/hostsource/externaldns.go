package hostsource

// ExternalDNSPrefixes are the prefixes below which external-dns may read its
// annotations: its default since v0.22, and the one before.
func ExternalDNSPrefixes() []string {
	return []string{"external-dns.kubernetes.io/", "external-dns.alpha.kubernetes.io/"}
}

package config

import "strings"

func (v *validator) pushgateway() {
	const section = "pushgateway"
	p := &v.c.Pushgateway
	v.file(section, "bearerTokenFile", p.BearerTokenFile, "token")
	v.file(section, "caFile", p.CAFile, "certificate")
	v.file(section, "certFile", p.CertFile, "certificate")
	v.file(section, "keyFile", p.KeyFile, "key")
	set := false
	for _, key := range []string{"basicAuth", "bearerTokenFile", "caFile", "certFile", "keyFile"} {
		set = set || v.given(section, key)
	}
	switch {
	case set && !v.given(section, "url"):
		v.missing(section, "url", false, "without it nothing is pushed, and the other keys mean nothing")
	case p.URL != "" && v.c.Cluster == "":
		// In a pod every cluster has the same address, and they would overwrite
		// each other's metrics.
		v.missing("", "cluster", v.given("", "cluster"), "metrics are pushed under the name of the cluster")
	}
	v.basicAuth(section)
	if v.given(section, "basicAuth") && v.given(section, "bearerTokenFile") {
		v.add(section, "bearerTokenFile", "stands beside basicAuth: a request can carry one of them only")
	}
	if (p.CertFile == "") != (p.KeyFile == "") {
		missing, there := "keyFile", "certFile"
		if p.CertFile == "" {
			missing, there = there, missing
		}
		if !v.given(section, missing) {
			v.missing(section, missing, false, there+" is of no use without it")
		}
	}
	if strings.HasPrefix(strings.ToLower(string(p.URL)), "http:") {
		for _, key := range []string{"caFile", "certFile", "keyFile"} {
			if v.given(section, key) {
				v.add(section, key, "means nothing to a URL that begins with http://")
			}
		}
	}
}

func (v *validator) basicAuth(section string) {
	path := join(section, "basicAuth")
	if !v.given(section, "basicAuth") || v.d.unsure[path] {
		return
	}
	b := &v.c.Pushgateway.BasicAuth
	v.plain(path, "username", b.Username)
	switch {
	case b.Username == "":
		v.missing(path, "username", v.given(path, "username"), "somebody has to be named")
	case strings.Contains(b.Username, ":"):
		v.add(path, "username", "%s has a colon, which ends the name of a user", shown(b.Username))
	}
	if !v.given(path, "passwordFile") {
		v.missing(path, "passwordFile", false, "write the password to a file and name the file here")
	}
	v.file(path, "passwordFile", b.PasswordFile, "password")
}

package config

import "time"

// Pushgateway says where metrics are pushed to, and how. What proves who pushes
// is read from files and never stands in the config.
type Pushgateway struct {
	URL URL `yaml:"url"` // empty: nowhere
	// Timeout is how long one push may take; 10 seconds by default.
	Timeout   Duration  `yaml:"timeout"`
	BasicAuth BasicAuth `yaml:"basicAuth"`
	// BearerTokenFile is the path of a file with a token, empty for none. It may
	// not stand beside BasicAuth.
	BearerTokenFile string `yaml:"bearerTokenFile"`
	// CAFile is the path of the certificates, in PEM, of those who may have
	// signed the server's; empty for those that the system trusts.
	CAFile string `yaml:"caFile"`
	// CertFile and KeyFile are the paths of a client certificate and its key, in
	// PEM. Both or neither are there.
	CertFile string `yaml:"certFile"`
	KeyFile  string `yaml:"keyFile"`
}

// BasicAuth names a user. The zero value is none.
type BasicAuth struct {
	Username     string `yaml:"username"`
	PasswordFile string `yaml:"passwordFile"`
}

func defaultPushgateway() Pushgateway { return Pushgateway{Timeout: Duration(10 * time.Second)} }

package config

import (
	"errors"
	"net/url"
	"strconv"
)

// URL is the base URL of a server that is spoken to without credentials in it.
type URL string

// UnmarshalText reads an http or https URL with a host. None of its errors
// shows the URL, for what is wrong with it may be a password.
func (u *URL) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("is empty: leave the key out where there is none")
	}
	// The error of url.Parse quotes what it was given.
	parsed, err := url.Parse(string(text))
	switch {
	case err != nil:
		return errors.New("is no URL, such as http://pushgateway.monitoring:9091")
	case parsed.User != nil:
		return errors.New("holds a user or password: take them out, they would be seen in logs")
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return errors.New("does not begin with http:// or https://")
	case parsed.Hostname() == "":
		return errors.New("has no host")
	case parsed.RawQuery != "" || parsed.ForceQuery || parsed.Fragment != "":
		return errors.New("has a query or fragment: only scheme, host, port and path may stand here")
	}
	if port := parsed.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return errors.New("has a port that is not between 1 and 65535")
		}
	}
	*u = URL(text)
	return nil
}

package config

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"time"

	"github.com/eventuallytrue/audit/rules"
)

// MaxSize is the size in bytes that a config file may have.
const MaxSize = 1 << 20

// Read reads the config file at a path, for a set of rules. Its errors are
// those of Parse, and those of the file itself.
func Read(path string, set []*rules.Rule) (Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return Config{}, fmt.Errorf("read config: %w", err)
	}
	defer f.Close() // nothing was written that could be lost
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return Config{}, fmt.Errorf("read config: %w", err)
	}
	return Parse(data, path, set)
}

// Parse reads a config for a set of rules; name stands for the file in errors.
// Empty data is the default config.
//
// The error joins every mistake of the file as an *Error, sorted by line: what
// is wrong in form and what is wrong in meaning alike. Only a file that is not
// YAML at all has no more than one. Whether exceptions have expired depends on
// the clock: see Expired.
func Parse(data []byte, name string, set []*rules.Rule) (Config, error) {
	found := &problems{file: name}
	d := newDecoder(found)
	c := Default()
	if root := parseYAML(data, found); root != nil {
		d.at[""] = root.at
		d.value(root, "", reflect.ValueOf(&c).Elem())
		validate(&c, set, d)
	}
	if err := found.err(); err != nil {
		return Config{}, err
	}
	for i := range c.Exceptions {
		path := index("exceptions", i)
		c.Exceptions[i].At = Position{name, d.at[path].line, path}
	}
	return c, nil
}

// Notes returns what of a sound config may not be what its writer had in mind,
// each in a line, sorted.
func (c *Config) Notes(now time.Time) []string {
	var notes []string
	for _, e := range c.Expired(now) {
		notes = append(notes, e.Error())
	}
	channels := c.UsesChannels()
	places := channels
	for i := range c.Owners.Teams {
		places = places || c.Owners.Teams[i].Slack.HasDestination()
	}
	fallback := c.Owners.Team(c.Owners.Fallback)
	switch {
	case !places || c.Webhook.URL != "":
	case c.Owners.Fallback == "":
		notes = append(notes, "owners.fallback: is not given: of what nobody owns nobody is told")
	case fallback == nil || !fallback.Slack.HasDestination():
		notes = append(notes, fmt.Sprintf("owners.fallback: %s is no team with a place in Slack: of what nobody owns nobody is told", shown(c.Owners.Fallback)))
	}
	if channels && c.Slack.TokenFile == "" {
		notes = append(notes, "slack.tokenFile: is not given: AUDIT_SLACK_TOKEN in the environment must hold the token")
	}
	slices.Sort(notes)
	return notes
}

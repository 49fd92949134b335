package config

import (
	"fmt"
	"io"
	"os"
	"reflect"

	"github.com/eventuallytrue/audit/rules"
)

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
		d.at[""] = placeOf(root)
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

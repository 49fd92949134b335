package config

import (
	"fmt"
	"io"
	"os"
	"reflect"

	"github.com/eventuallytrue/audit/rules"
)

// Read reads the config file at a path, for a set of rules. It returns the errors of
// Parse, and those of reading the file.
func Read(path string, set []*rules.Rule) (Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return Config{}, fmt.Errorf("read config: %w", err)
	}
	defer f.Close() // read only
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return Config{}, fmt.Errorf("read config: %w", err)
	}
	return Parse(data, path, set)
}

// Parse reads a config for a set of rules; name is the name of the file in errors.
// Empty data is the default config.
//
// The error joins all mistakes in the file as *Error, sorted by line: invalid syntax
// and invalid values alike. Only data that is not YAML has a single error. Whether
// exceptions have expired depends on the clock: see Expired.
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

package config

import (
	"regexp"
	"strconv"
)

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]{1,60}$`)

// join returns the path of a key in the section at a path. A key that would
// make the path hard to read is quoted, and shortened.
func join(path, key string) string {
	switch {
	case !plainKey.MatchString(key) || holdsSecret(key):
		return path + "[" + shown(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// index returns the path of an item in the list at a path.
func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

package config

import "testing"

func TestEveryDocIsOfAKeyThatIsThere(t *testing.T) {
	paths := map[string]Key{}
	for _, key := range Keys() {
		paths[key.Path] = key
	}
	for path, doc := range keyDocs() {
		key, ok := paths[path]
		switch {
		case !ok:
			t.Errorf("keyDocs explains %s, which is not a key", path)
		case doc.otherwise != "" && key.Default != doc.otherwise:
			t.Errorf("keyDocs has a default for %s beside that of Default, %s", path, key.Default)
		}
	}
}

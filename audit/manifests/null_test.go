package manifests_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/audit/manifests"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// kubectl passes null on, and the API server reads it as an absent list. Generators write
// one for an empty list, so nothing may be lost by it.
func TestReadNullWhereAListMayStand(t *testing.T) {
	files, err := filepath.Glob("../../testdata/rules/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d fixtures, %v", len(files), err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
			var object map[string]any
			if yaml.Unmarshal(doc, &object) != nil {
				continue
			}
			kind, _ := object["kind"].(string)
			eachList(object, kind, func(path string, without func()) {
				if seen[path] {
					return
				}
				seen[path] = true
				got, snap := readObject(t, object)
				if len(got.problems) > 0 {
					t.Errorf("%s: %s: %q", filepath.Base(file), path, got.problems)
				}
				without()
				if _, absent := readObject(t, object); !reflect.DeepEqual(snap, absent) {
					t.Errorf("%s: %s: null is not read as an absent list", filepath.Base(file), path)
				}
			})
		}
	}
	if len(seen) < 50 {
		t.Errorf("only %d lists", len(seen))
	}
}

func readObject(t *testing.T, object map[string]any) (reading, *snapshot.Snapshot) {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, &manifests.Source{Paths: []string{"-"}, Stdin: bytes.NewReader(data), HostSources: hostsource.BuiltIn()})
}

// eachList calls a function with each list in an object replaced by null, and a function
// that removes the field.
func eachList(value any, path string, with func(path string, without func())) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			at := path + "." + key
			if _, ok := inner.([]any); ok {
				v[key] = nil
				with(at, func() { delete(v, key) })
				v[key] = inner
			}
			eachList(inner, at, with)
		}
	case []any:
		for _, inner := range v {
			eachList(inner, path+"[]", with)
		}
	}
}

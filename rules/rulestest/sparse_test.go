package rulestest

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThinTakesEachOptionalFieldInTurn(t *testing.T) {
	const whole = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"b":"c"}},"spec":[{"d":1},2]}`
	var object any
	if err := json.Unmarshal([]byte(whole), &object); err != nil {
		t.Fatal(err)
	}
	print := func() string {
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	got := map[string]string{}
	var order []string
	thin(&object, "", func(change string) {
		got[change] = print()
		order = append(order, change)
	})
	const head = `{"apiVersion":"v1","kind":"Pod","metadata":`
	const named, labelled = `{"name":"a"}`, `{"labels":{"b":"c"},"name":"a"}`
	want := map[string]string{
		"no .metadata.labels":         head + named + `,"spec":[{"d":1},2]}`,
		"null for .metadata.labels":   head + `{"labels":null,"name":"a"},"spec":[{"d":1},2]}`,
		"no .metadata.labels.b":       head + `{"labels":{},"name":"a"},"spec":[{"d":1},2]}`,
		"null for .metadata.labels.b": head + `{"labels":{"b":null},"name":"a"},"spec":[{"d":1},2]}`,
		"no .spec":                    head + labelled + `}`,
		"null for .spec":              head + labelled + `,"spec":null}`,
		"no .spec[0]":                 head + labelled + `,"spec":[2]}`,
		"null for .spec[0]":           head + labelled + `,"spec":[null,2]}`,
		"no .spec[0].d":               head + labelled + `,"spec":[{},2]}`,
		"null for .spec[0].d":         head + labelled + `,"spec":[{"d":null},2]}`,
		"no .spec[1]":                 head + labelled + `,"spec":[{"d":1}]}`,
		"null for .spec[1]":           head + labelled + `,"spec":[{"d":1},null]}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("thin (-want +got):\n%s", diff)
	}
	if len(order) != len(want) || slices.Index(order, "no .metadata.labels") != 0 {
		t.Errorf("the order is %q", order)
	}
	if after := print(); after != `{"apiVersion":"v1","kind":"Pod","metadata":`+labelled+`,"spec":[{"d":1},2]}` {
		t.Errorf("the object is left as %s", after)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

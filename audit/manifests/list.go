package manifests

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
)

// maxNesting bounds how deep lists may stand in lists: each copies what is in it.
const maxNesting = 8

// list takes in the items of a list, and reports whether there are any to take:
// a kind may be called a list and be an object like others.
func (r *reader) list(where string, v value, t typeMeta, depth int) bool {
	items, ok, err := v.list(depth)
	if err != nil {
		r.problem(where, fmt.Errorf("decode %s: %w", t.Kind, err))
		return true
	}
	if !ok && t.Kind == "List" && t.APIVersion == "v1" {
		r.problem(where, errors.New("decode List: it has no items"))
		return true
	}
	if !ok {
		return false
	}
	of := typeMeta{APIVersion: t.APIVersion, Kind: strings.TrimSuffix(t.Kind, "List")}
	if of.Kind == "" {
		of = typeMeta{}
	}
	n := 0
	for item := range items {
		n++
		r.object(fmt.Sprintf("%s item %d", where, n), value{text: item}, of, depth+1)
	}
	return true
}

// list returns the items of a list, to be gone through once, and false if there
// are none. Those of a list in a list do not stand apart.
func (v *value) list(depth int) (items iter.Seq[[]byte], ok bool, err error) {
	if v.items != nil {
		return v.items.drain(), true, nil
	}
	var list struct {
		Items json.RawMessage `json:"items"`
	}
	err = kjson.UnmarshalCaseSensitivePreserveInts(v.text, &list)
	switch {
	case err != nil || list.Items == nil:
		return nil, false, err
	case depth == maxNesting:
		return nil, false, fmt.Errorf("more than %d lists in one another", maxNesting)
	}
	var all []json.RawMessage
	if err := json.Unmarshal(list.Items, &all); err != nil {
		return nil, false, err
	}
	return func(yield func([]byte) bool) {
		for item := range slices.Values(all) {
			if !yield(item) {
				return
			}
		}
	}, true, nil
}

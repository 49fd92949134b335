package snapshot

import (
	"reflect"
	"testing"
)

// A kind of fact that the Builder forgets looks like a kind of which there is
// nothing.
func TestBuilderKeepsFactsOfEveryKind(t *testing.T) {
	var facts Facts
	fields := reflect.ValueOf(&facts).Elem()
	for i := range fields.NumField() {
		list := fields.Field(i)
		list.Set(reflect.MakeSlice(list.Type(), 1, 1))
	}
	var b Builder
	b.Add(facts)
	kept := reflect.ValueOf(b.Freeze().facts)
	for i := range kept.NumField() {
		if kept.Field(i).Len() != 1 {
			t.Errorf("%s are lost", kept.Type().Field(i).Name)
		}
	}
}

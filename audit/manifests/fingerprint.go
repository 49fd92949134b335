package manifests

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// appendFacts appends the facts of one object so that equal ones are alike. Two texts with
// the same facts are alike to every rule, whatever else is in them.
func appendFacts(out []byte, facts *snapshot.Facts) []byte {
	return appendValue(out, reflect.ValueOf(facts).Elem())
}

var (
	typeOfTime   = reflect.TypeFor[time.Time]()
	typeOfPrefix = reflect.TypeFor[netip.Prefix]()
)

// appendValue appends a value so that no two values of a type are alike. Where two versions
// leave out a list or have an empty one, it is the same.
func appendValue(out []byte, v reflect.Value) []byte {
	switch v.Type() {
	case typeOfTime:
		t := v.Interface().(time.Time)
		if t.IsZero() {
			return append(out, 0)
		}
		return binary.AppendVarint(append(out, 1), t.UnixNano())
	case typeOfPrefix:
		p := v.Interface().(netip.Prefix)
		return appendText(out, p.String())
	}
	switch v.Kind() {
	case reflect.String:
		return appendText(out, v.String())
	case reflect.Bool:
		if v.Bool() {
			return append(out, 1)
		}
		return append(out, 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(out, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return binary.AppendUvarint(out, v.Uint())
	case reflect.Float32, reflect.Float64:
		return binary.AppendUvarint(out, math.Float64bits(v.Float()))
	case reflect.Struct:
		for i := range v.NumField() {
			out = appendValue(out, v.Field(i))
		}
		return out
	case reflect.Slice, reflect.Array:
		out = binary.AppendUvarint(out, uint64(v.Len()))
		for i := range v.Len() {
			out = appendValue(out, v.Index(i))
		}
		return out
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return append(out, 0)
		}
		return appendValue(append(out, 1), v.Elem())
	case reflect.Map:
		var pairs []string
		for key, value := range v.Seq2() {
			pairs = append(pairs, string(appendValue(appendValue(nil, key), value)))
		}
		slices.Sort(pairs)
		out = binary.AppendUvarint(out, uint64(len(pairs)))
		for _, pair := range pairs {
			out = appendText(out, pair)
		}
		return out
	}
	panic(fmt.Sprintf("a fact has a field of type %s", v.Type()))
}

func appendText(out []byte, s string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(s))), s...)
}

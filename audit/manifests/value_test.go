package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// Read with its items apart, a mapping is what it is as a whole, and what is no
// JSON is refused.
func FuzzReadValue(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"items":[]}`, `{"a":1,"items":[1,"b",{"c":[]}],"kind":"List"}`, `{"items":[1],"items":[2,3]}`, `{"items":[1],"items":7}`,
		`{"items":{"items":[1]},"a":{"items":[2]}}`, `{"items":null}`, `{"items":"x"}`, `{"items":-1.50e+900}`, "{ \"a\" : [ 1 ] ,\n\"items\" : [ 1 , 2 ] }",
		`{"\u0069tems":[1],"<&>":"<&>"}`, `{"items":[1`, `{"items":[1}`, `{"items":[1,]}`, `{"items":[1 2]}`, `{"a":1,}`, `{"a" 1}`, `{,}`, `{"a"}`, `{"items"`, `{"items":`, `{"items":]`,
		`[]`, `[1,{"items":[2]}]`, `[1`, `7`, `1e999`, `"items"`, `null`, `true`, `]`, `,`, ``, ` `, `{"a":"` + "\xff" + `"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want json.RawMessage
		wantErr := json.NewDecoder(bytes.NewReader(data)).Decode(&want)
		v, err := readValue(newDecoder(bytes.NewReader(data)))
		if err != nil && strings.Contains(err.Error(), "more than one") {
			return // of which a decoder says nothing
		}
		if (err == nil) != (wantErr == nil) || errors.Is(err, io.EOF) != errors.Is(wantErr, io.EOF) {
			t.Fatalf("with its items apart it gives %v, as a whole %v", err, wantErr)
		}
		if err != nil {
			return
		}
		if want[0] != '{' {
			if v.text[0] == '{' || string(want) == "null" && string(v.text) != "null" {
				t.Errorf("%s is taken for %s", want, v.text)
			}
			return
		}
		if got, want := generic(t, v.whole()), generic(t, want); got != want {
			t.Errorf("with its items apart it is\n%s\nas a whole\n%s", got, want)
		}
	})
}

// generic writes a value as a decoder understands it.
func generic(t *testing.T, text []byte) string {
	t.Helper()
	var v any
	d := newDecoder(bytes.NewReader(text))
	if err := d.Decode(&v); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	return fmt.Sprintf("%#v", v)
}

func TestSpoolGivesBackWhatItWasGiven(t *testing.T) {
	var want []string
	for _, size := range []int{0, 1, 127, 128, slabSize / 2, slabSize - 1, slabSize, 3 * slabSize, 0, 5} {
		want = append(want, strings.Repeat("x", size))
	}
	var s spool
	for _, text := range want {
		s.add([]byte(text))
	}
	var got []string
	for text := range s.drain() {
		got = append(got, string(text))
	}
	if !slices.Equal(got, want) || s.texts != len(want) {
		t.Errorf("%d texts of %d came back, or not as they were", len(got), len(want))
	}
	for range s.drain() {
		t.Error("there is more after all was given back")
	}
}

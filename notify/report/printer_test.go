package report

import (
	"bytes"
	"io"
	"os"
	"reflect"
	"testing"
)

func TestOptionsFor(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/report")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()

	for _, row := range []struct {
		name string
		out  io.Writer
		env  map[string]string
		want Options
	}{
		{"a pipe has the default width and no color", &bytes.Buffer{}, nil, Options{Width: DefaultWidth}},
		{"so has a file", file, map[string]string{"TERM": "xterm"}, Options{Width: DefaultWidth}},
		{"COLUMNS sets the width", file, map[string]string{"COLUMNS": "72"}, Options{Width: 72}},
		{"COLUMNS that is not a number is ignored", file, map[string]string{"COLUMNS": "wide"}, Options{Width: DefaultWidth}},
		{"so is a negative one", file, map[string]string{"COLUMNS": "-3"}, Options{Width: DefaultWidth}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := OptionsFor(row.out, func(k string) string { return row.env[k] }); !reflect.DeepEqual(got, row.want) {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
		})
	}
}

func TestOptionsForTerminal(t *testing.T) {
	// The master of a pseudo-terminal is a terminal of unknown size.
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("open pseudo-terminal: %v", err)
	}
	defer pty.Close()
	if _, ok := terminal(pty); !ok {
		t.Skip("the master of a pseudo-terminal is not a terminal on this system")
	}

	for _, row := range []struct {
		name  string
		env   map[string]string
		color bool
	}{
		{"a terminal has color", map[string]string{"TERM": "xterm"}, true},
		{"not if it is dumb", map[string]string{"TERM": "dumb"}, false},
		{"not with NO_COLOR", map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			want := Options{Width: DefaultWidth, Color: row.color}
			if got := OptionsFor(pty, func(k string) string { return row.env[k] }); !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

package report

import (
	"io"
	"strconv"

	"golang.org/x/term"
)

// The widths that hold where the terminal does not say, and at least.
const (
	DefaultWidth = 100
	MinWidth     = 40
)

// OptionsFor returns options that fit the writer: the width of the terminal
// behind it, or what COLUMNS says where there is none, or DefaultWidth. Colour
// is for terminals only, and not where NO_COLOR is set to anything or TERM is
// dumb. getenv is os.Getenv.
func OptionsFor(w io.Writer, getenv func(string) string) Options {
	fd, ok := terminal(w)
	opts := Options{Color: ok && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
	if ok {
		// A terminal may not know its size, such as one behind a serial line.
		if width, _, err := term.GetSize(fd); err == nil && width > 0 {
			opts.Width = width
			return opts
		}
	}
	opts.Width = DefaultWidth
	if width, err := strconv.Atoi(getenv("COLUMNS")); err == nil && width > 0 {
		opts.Width = width
	}
	return opts
}

// terminal returns the file descriptor of the terminal that the writer is, if
// it is one.
func terminal(w io.Writer) (fd int, ok bool) {
	f, ok := w.(interface{ Fd() uintptr })
	if !ok {
		return 0, false
	}
	fd = int(f.Fd())
	return fd, term.IsTerminal(fd)
}

package manifests

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// called returns the name of a path in problems.
func called(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// readPath reads one path. Its only error is the end of the context.
func (s *Source) readPath(ctx context.Context, r *reader, path string) error {
	if path == "-" {
		r.read(ctx, called(path), s.Stdin)
		return context.Cause(ctx)
	}
	// WalkDir goes in lexical order, and does not follow links to folders: a mounted
	// ConfigMap has each file once as a link and once in a linked folder. The separator
	// makes it follow the root.
	root := path
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		root += string(filepath.Separator)
	}
	return filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			r.problem(name, err)
			return nil
		case entry.IsDir():
			if name != root && strings.HasPrefix(entry.Name(), "..") {
				return filepath.SkipDir
			}
			return nil
		case name != root && !manifestName(name):
			return nil
		}
		info, err := os.Stat(name)
		switch {
		case err != nil || info.Mode().IsRegular():
		case info.IsDir():
			return nil
		// Only a pipe that is named itself is waited for.
		case name != root || !stream(info):
			r.problem(name, errors.New("it is not a regular file"))
			return nil
		}
		r.readFile(ctx, name)
		return context.Cause(ctx)
	})
}

func manifestName(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

func (r *reader) readFile(ctx context.Context, name string) {
	f, err := os.Open(name)
	if err != nil {
		r.problem(name, err)
		return
	}
	defer f.Close()
	r.read(ctx, name, f)
}

// tryOpen opens and closes a file. It leaves pipes alone: closing one would signal to its
// writer that there is no reader.
func tryOpen(path string) error {
	if info, err := os.Stat(path); err == nil && stream(info) {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// stream reports whether a file can be read only once and may keep its reader waiting.
func stream(info fs.FileInfo) bool {
	return info.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice) != 0
}

// read reads the documents of one stream, which is YAML or JSON.
func (r *reader) read(ctx context.Context, name string, in io.Reader) {
	// PowerShell writes the output of kubectl in UTF-16.
	buffered := bufio.NewReader(transform.NewReader(in, unicode.BOMOverride(transform.Nop)))
	if startsJSON(buffered) {
		r.readJSON(ctx, name, buffered)
		return
	}
	r.readYAML(ctx, name, buffered)
}

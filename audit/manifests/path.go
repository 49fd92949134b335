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
		r.begin(called(path), "", false)
		r.read(ctx, called(path), s.Stdin)
		r.end()
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
			r.problems.add(name, err)
			return nil
		case name != root && strings.HasPrefix(entry.Name(), "..") && entry.IsDir():
			return filepath.SkipDir // of a mounted ConfigMap
		case name != root && r.passOver(root, name, entry):
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		}
		info, err := os.Stat(name)
		switch {
		case err != nil || info.Mode().IsRegular():
		case info.IsDir():
			return nil
		// Only a pipe that is named itself is waited for.
		case name != root || !stream(info):
			r.problems.add(name, errors.New("it is not a regular file"))
			return nil
		}
		r.readFile(ctx, name, name != root)
		return context.Cause(ctx)
	})
}

// passOver reports whether a file or folder in a folder is not read, and counts it where
// that may surprise.
func (r *reader) passOver(root, name string, entry fs.DirEntry) bool {
	below, err := filepath.Rel(root, name)
	if err == nil && r.exclude.match(filepath.ToSlash(below), entry.IsDir()) {
		if entry.IsDir() || manifestName(name) {
			r.notes.excluded.add(name)
		}
		return true
	}
	switch {
	case entry.IsDir():
		hidden := strings.HasPrefix(entry.Name(), ".")
		if hidden {
			r.notes.hidden.add(name)
		}
		return hidden
	case slices.Contains(kustomizationNames(), entry.Name()):
		r.notes.kustomizations.add(name)
	case entry.Name() == "Chart.yaml":
		r.notes.charts.add(name)
	}
	return !manifestName(name)
}

// kustomizationNames are the names by which kustomize finds its file.
func kustomizationNames() []string {
	return []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}
}

func manifestName(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

func (r *reader) readFile(ctx context.Context, name string, inFolder bool) {
	f, err := os.Open(name)
	if err != nil {
		r.problems.add(name, err)
		return
	}
	defer f.Close()
	r.begin(name, withoutLinks(name), inFolder)
	r.read(ctx, name, f)
	r.end()
}

// withoutLinks returns the path that a file has by whatever path it is reached, empty for
// one that can be read only once.
func withoutLinks(name string) string {
	if info, err := os.Stat(name); err != nil || stream(info) {
		return ""
	}
	resolved, err := filepath.EvalSymlinks(name)
	if err != nil {
		return ""
	}
	if resolved, err = filepath.Abs(resolved); err != nil {
		return ""
	}
	return resolved
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
	buffered := bufio.NewReader(decoded(in))
	if startsJSON(buffered) {
		r.readJSON(ctx, name, buffered)
		return
	}
	r.readYAML(ctx, name, buffered)
}

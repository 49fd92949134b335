package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

var (
	license = regexp.MustCompile(`(?i)^(licen[cs]e|copying)([-._].*)?$`)
	notice  = regexp.MustCompile(`(?i)^(notice|patents|copyright)([-._].*)?$`)
)

// read fills in the licences and the notices that stand in the folders of a part.
func (p *part) read() error {
	for _, folder := range slices.Sorted(maps.Keys(p.folders)) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.IsDir() || !license.MatchString(e.Name()) && !notice.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
				continue
			}
			if err := p.take(filepath.Join(folder, e.Name())); err != nil {
				return err
			}
		}
	}
	if len(p.ids) == 0 {
		return errors.New("there is none")
	}
	slices.Sort(p.ids)
	p.ids = slices.Compact(p.ids)
	return nil
}

// known is how much of a licence's file, in per cent, has to be text of licences
// that are known by their names.
const known = 75

// take adds the text of one file, and says which licences it holds.
func (p *part) take(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n"))
	if !slices.Contains(p.texts, text) {
		p.texts = append(p.texts, text)
	}
	if !license.MatchString(filepath.Base(path)) {
		return nil
	}
	found := licensecheck.Scan(data)
	if found.Percent < known {
		return fmt.Errorf("%s is none that is known", path)
	}
	for _, m := range found.Match {
		if !m.IsURL {
			p.ids = append(p.ids, m.ID)
		}
	}
	return nil
}

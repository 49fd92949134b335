package slack_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/eventuallytrue/audit/audit"
)

// shelf is a store in memory.
type shelf struct {
	mu    sync.Mutex
	held  map[string]audit.Stored
	count int
}

func (s *shelf) Load(context.Context) (out []audit.Stored, _ []string, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.held {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b audit.Stored) int { return strings.Compare(a.ID, b.ID) })
	return out, nil, nil
}

func (s *shelf) Get(_ context.Context, id string) (audit.Stored, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.held[id]; ok {
		return r, nil
	}
	return audit.Stored{}, audit.ErrNotStored
}

func (s *shelf) Create(ctx context.Context, r audit.Record) (audit.Stored, error) {
	return s.Update(ctx, audit.Stored{Record: r})
}

func (s *shelf) Update(_ context.Context, r audit.Stored) (audit.Stored, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[r.ID].Version != r.Version {
		return audit.Stored{}, audit.ErrConflict
	}
	s.count++
	r.Version = fmt.Sprint(s.count)
	s.held[r.ID] = r
	return r, nil
}

func (s *shelf) Delete(context.Context, audit.Stored) error { return nil }

func channelOf(owner string) string { return "C" + owner[5:] + "X" }

var (
	idPattern      = regexp.MustCompile(`default-deny-present-[0-9a-f]{16}`)
	subjectPattern = regexp.MustCompile(`team-\d{3}-\d{3} \(Ingress\)`)
)

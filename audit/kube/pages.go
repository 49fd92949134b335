package kube

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// maxStarts is how often a list is begun before it is given up. An API server
// keeps the state that a list is a view of for five minutes or so: a list that
// expires this often will not get done.
const maxStarts = 4

// errRepeats is a server that would have us read one page for ever.
var errRepeats = errors.New("the server names the same page twice in a row")

// all reads a kind to its end. After an error there are no facts.
//
// A list whose state expires between two pages is begun again and what was
// read of it is thrown away. The server offers a token to go on with in its
// present state, and client-go's pager would ask for the rest in one piece:
// the one mixes two states, the other has no bound on memory.
func (s *Source) all(ctx context.Context, fetch fetch) (snapshot.Facts, int, error) {
	for range maxStarts {
		facts, items, err := s.once(ctx, fetch)
		if !expired(err) {
			return facts, items, err
		}
	}
	return snapshot.Facts{}, 0, fmt.Errorf("the list expired %d times before it was complete", maxStarts)
}

// once reads the pages of a kind one after the other, all of one state.
func (s *Source) once(ctx context.Context, fetch fetch) (snapshot.Facts, int, error) {
	var facts snapshot.Facts
	items := 0
	opts := metav1.ListOptions{Limit: s.opts.PageSize}
	for {
		var n int
		var next string
		err := s.retry(ctx, func(ctx context.Context) (err error) {
			n, next, err = fetch(ctx, opts, &facts)
			return err
		})
		switch {
		case err != nil:
			return snapshot.Facts{}, 0, err
		case next == "":
			return facts, items + n, nil
		case next == opts.Continue:
			return snapshot.Facts{}, 0, errRepeats
		}
		items += n
		opts.Continue = next
	}
}

// expired reports whether the state that a list is a view of is gone. A
// gateway may answer 410 without the reason that an API server gives.
func expired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

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

// once reads the pages of a kind one after the other, all of one state. While
// the facts of one are taken in, the next is on its way.
func (s *Source) once(ctx context.Context, fetch fetch) (snapshot.Facts, int, error) {
	// What is on its way when there is an error is of no use.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var facts snapshot.Facts
	items := 0
	opts := metav1.ListOptions{Limit: s.opts.PageSize}
	for coming := s.request(ctx, fetch, opts); ; {
		a := <-coming
		switch {
		case a.err != nil:
			return snapshot.Facts{}, 0, a.err
		case a.page.next == "":
		case a.page.next == opts.Continue:
			return snapshot.Facts{}, 0, errRepeats
		default:
			opts.Continue = a.page.next
			coming = s.request(ctx, fetch, opts)
		}
		if err := a.page.take(&facts); err != nil {
			return snapshot.Facts{}, 0, err
		}
		items += a.page.items
		if a.page.next == "" {
			return facts, items, nil
		}
	}
}

// asked is what became of a request for a page.
type asked struct {
	page page
	err  error
}

// request asks for a page. What comes of it nobody has to receive.
func (s *Source) request(ctx context.Context, fetch fetch, opts metav1.ListOptions) <-chan asked {
	done := make(chan asked, 1)
	go func() {
		var a asked
		a.err = s.retry(ctx, func(ctx context.Context) (err error) {
			a.page, err = fetch(ctx, opts)
			return err
		})
		done <- a
	}()
	return done
}

// expired reports whether the state that a list is a view of is gone. A
// gateway may answer 410 without the reason that an API server gives.
func expired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

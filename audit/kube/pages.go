package kube

import (
	"bufio"
	"bytes"
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

// errRepeats is a server that would have us read for ever.
var errRepeats = errors.New("the server names the same page twice")

// mostEmpty is how many pages without any object may follow each other.
const mostEmpty = 100

// all reads a kind to its end. After an error there are no facts.
//
// A list whose state expires between two pages is begun again and what was
// read of it is thrown away. The server offers a token to go on with in its
// present state, and client-go's pager would ask for the rest in one piece:
// the one mixes two states, the other has no bound on memory.
func (s *Source) all(ctx context.Context, l list) (snapshot.Facts, int, error) {
	for range maxStarts {
		facts, items, err := s.once(ctx, l)
		if !expired(err) {
			return facts, items, err
		}
	}
	return snapshot.Facts{}, 0, fmt.Errorf("the list expired %d times before it was complete", maxStarts)
}

// once reads the pages of a kind one after the other, all of one state.
func (s *Source) once(ctx context.Context, l list) (snapshot.Facts, int, error) {
	// What is on its way when there is an error is of no use.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := reader{source: s, list: l, body: bufio.NewReaderSize(nil, readAtOnce), most: mostLimit, tokens: map[string]bool{}}
	items, empty := 0, 0
	for coming := s.askPage(ctx, l, metav1.ListOptions{Limit: s.firstPage(l)}); coming != nil; {
		p, next, err := r.page(ctx, coming)
		if err != nil {
			return snapshot.Facts{}, 0, err
		}
		items += p.items
		if empty++; p.items > 0 {
			empty = 0
		}
		if empty > mostEmpty {
			next.drop()
			return snapshot.Facts{}, 0, errRepeats
		}
		coming = next
	}
	return r.facts, items, nil
}

// readAtOnce is how many bytes of an answer are held while it is taken in. Most
// objects are smaller, and are decoded where they lie.
const readAtOnce = 32 << 10

// reader reads a list to its end. An answer is decoded as it comes in, so that no
// page is in memory as a whole, however large its objects are.
type reader struct {
	source  *Source
	list    list
	facts   snapshot.Facts // of the pages so far
	body    *bufio.Reader
	scratch bytes.Buffer
	most    int64           // objects that are asked for at once
	tokens  map[string]bool // of the pages so far
}

// page reads the page that was asked for. The next one is asked for as soon as it is
// known where that begins, so that the server is at work while this one is taken in;
// after the last one it is nil.
func (r *reader) page(ctx context.Context, a *asked) (p *page, next *asked, err error) {
	if r.tokens[a.opts.Continue] {
		a.drop()
		return nil, nil, errRepeats
	}
	r.tokens[a.opts.Continue] = true
	again := false
	err = r.source.try(a.ctx, func(context.Context) error {
		// An earlier try may have been of another state of the cluster.
		next.drop()
		next = nil
		if again {
			a.opts.Limit = r.source.pageAgain(a.opts.Limit)
			r.most = a.opts.Limit
		}
		again = true
		answer := a.answer()
		defer answer.close()
		if answer.err != nil {
			return answer.err
		}
		before := r.facts
		p = &page{opts: a.opts, kind: r.list.kind, facts: &r.facts, scratch: &r.scratch}
		p.headed = func(bytes int64) {
			if p.next != "" {
				opts := metav1.ListOptions{Limit: r.source.pageAfter(a.opts.Limit, bytes, r.most), Continue: p.next}
				next = r.source.askPage(ctx, r.list, opts)
			}
		}
		r.body.Reset(answer.body)
		if err := r.list.read(r.body, p); err != nil {
			r.facts = before
			return err
		}
		return nil
	})
	if err != nil {
		next.drop()
		return nil, nil, err
	}
	return p, next, nil
}

// expired reports whether the state that a list is a view of is gone. A
// gateway may answer 410 without the reason that an API server gives.
func expired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

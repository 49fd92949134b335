package kube

import (
	"cmp"
	"context"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How many objects are asked for at once, where the options do not say it: as many
// as kubectl asks for at first, and then as many as make an answer of a few MiB. A
// server may have to look at all that is still to come for each page that it
// answers, so small pages make a large list slow; and it holds an answer as a whole,
// so what is large is asked for in small pages. The objects of the next page need
// not be as those of the last: what the server did not manage is asked for by halves.
const (
	firstLimit  = 500
	leastLimit  = 50
	mostLimit   = 4000
	mostGrowth  = 4
	bytesOfPage = 4 << 20
)

func (s *Source) firstPage(l list) int64 {
	if s.opts.PageSize > 0 {
		return s.opts.PageSize
	}
	return cmp.Or(l.first, firstLimit)
}

// pageAfter returns how many objects to ask for after a page that had as many as
// were asked for in about as many bytes, but no more than given.
func (s *Source) pageAfter(objects, bytes, most int64) int64 {
	if s.opts.PageSize > 0 || bytes <= 0 {
		return objects
	}
	fitting := max(objects*bytesOfPage/bytes, leastLimit)
	return min(fitting, objects*mostGrowth, most)
}

// pageAgain returns how many objects to ask for after a page of so many failed.
func (s *Source) pageAgain(objects int64) int64 {
	if s.opts.PageSize > 0 {
		return objects
	}
	return min(objects, max(objects/2, leastLimit))
}

// asked is a request for a page that was made.
type asked struct {
	ctx   context.Context
	list  list
	opts  metav1.ListOptions
	first chan opened // takes what comes of it, and is nil when that is gone
	// cancel ends the first request.
	cancel context.CancelFunc
}

// opened is an answer of which nothing is read yet.
type opened struct {
	body   io.ReadCloser
	cancel context.CancelFunc // of the request, so that nobody waits for what is of no use
	err    error
}

func (o *opened) close() {
	o.cancel()
	if o.err == nil {
		_ = o.body.Close() // it was read, or is of no use
	}
}

// askPage asks for a page. What comes of it nobody has to receive.
func (s *Source) askPage(ctx context.Context, l list, opts metav1.ListOptions) *asked {
	a := &asked{ctx: s.usage.begin(ctx), list: l, opts: opts, first: make(chan opened, 1)}
	once, cancel := context.WithCancel(a.ctx)
	a.cancel = cancel
	first := a.first
	go func() {
		body, err := l.request(opts).Stream(once)
		first <- opened{body, cancel, err}
	}()
	return a
}

// answer returns the answer, and when it is called again that to the same request
// made anew. Whoever gets it closes it.
func (a *asked) answer() opened {
	if a.first != nil {
		o := <-a.first
		a.first = nil
		return o
	}
	once, cancel := context.WithCancel(a.ctx)
	body, err := a.list.request(a.opts).Stream(once)
	return opened{body, cancel, err}
}

// drop gives up what nobody has received. It may be called on nil.
func (a *asked) drop() {
	if a == nil || a.first == nil {
		return
	}
	a.cancel()
	first := a.first
	go func() {
		o := <-first
		o.close()
	}()
}

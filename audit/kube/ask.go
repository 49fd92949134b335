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
// so what is large is asked for in small pages.
const (
	firstLimit  = 500
	leastLimit  = 50
	mostLimit   = 4000
	bytesOfPage = 4 << 20
)

func (s *Source) firstPage(l list) int64 {
	if s.opts.PageSize > 0 {
		return s.opts.PageSize
	}
	return cmp.Or(l.first, firstLimit)
}

// pageAfter returns how many objects to ask for after a page that had as many as
// were asked for in about as many bytes.
func (s *Source) pageAfter(objects, bytes int64) int64 {
	if s.opts.PageSize > 0 || bytes <= 0 {
		return objects
	}
	return min(max(objects*bytesOfPage/bytes, leastLimit), mostLimit)
}

// asked is a request for a page that was made.
type asked struct {
	ctx    context.Context
	cancel context.CancelFunc
	list   list
	opts   metav1.ListOptions
	first  chan opened // takes what comes of it, and is nil when that is gone
}

// opened is an answer of which nothing is read yet.
type opened struct {
	body io.ReadCloser
	err  error
}

// askPage asks for a page. What comes of it nobody has to receive.
func (s *Source) askPage(ctx context.Context, l list, opts metav1.ListOptions) *asked {
	ctx, cancel := context.WithCancel(s.usage.begin(ctx))
	a := &asked{ctx: ctx, cancel: cancel, list: l, opts: opts, first: make(chan opened, 1)}
	first := a.first
	go func() {
		body, err := l.request(opts).Stream(ctx)
		first <- opened{body, err}
	}()
	return a
}

// answer returns the answer, and when it is called again that to the same request
// made anew. Whoever gets one closes it.
func (a *asked) answer() (io.ReadCloser, error) {
	if a.first == nil {
		return a.list.request(a.opts).Stream(a.ctx)
	}
	o := <-a.first
	a.first = nil
	return o.body, o.err
}

// drop gives up what nobody has received. It may be called on nil.
func (a *asked) drop() {
	if a == nil || a.first == nil {
		return
	}
	a.cancel()
	go func() {
		if o := <-a.first; o.err == nil {
			_ = o.body.Close() // it is of no use
		}
	}()
}

package kube

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// List says how a kind is listed, and how its pages are read into a T.
type List[T any] struct {
	// Request makes the request for a page.
	Request func(metav1.ListOptions) *rest.Request
	// Read reads the response for a page and adds its objects to the T. After an
	// error the T is set back to what it was, so whatever it refers to must only be
	// appended to.
	Read func(*bufio.Reader, *Page, *T) error
	// First is the number of objects requested at first, unless the client's options
	// say; zero means firstLimit.
	First int64
	// Kind is the kind of the list, such as "PodList"; empty where it is not known.
	Kind string
}

// Page is one page of a list while it is read.
type Page struct {
	Opts metav1.ListOptions // of the request

	kind   string // of the list, empty where it is not known
	items  int
	next   string // the token of the next page, empty after the last
	buffer *bytes.Buffer
	headed func(bytes int64) // called once it is known where the next page begins
}

// ErrNotList is a response that can be decoded but that an API server would not send.
var ErrNotList = errors.New("the response is not a list: it has no resource version")

// errRepeats is a server that would never finish a list.
var errRepeats = errors.New("the server sent the same page token twice")

func endedEarly(err error) error { return fmt.Errorf("the response ended early: %w", err) }

// head takes the metadata of the list, and the approximate size of the page. The
// decoders call it once, as early as they can.
func (p *Page) head(version, next string, bytes int64) error {
	// An empty object decodes as an empty list, which would say that the cluster has
	// no such objects.
	if version == "" {
		return ErrNotList
	}
	p.next = next
	p.headed(bytes)
	return nil
}

// check returns an error for the kind of a response that is not the wanted list.
func (p *Page) check(kind string) error {
	switch {
	case kind == "":
	case !strings.HasSuffix(kind, "List"):
		return fmt.Errorf("the response is a %q, not a list", kind)
	case p.kind != "" && kind != p.kind:
		return fmt.Errorf("the response is a %q, not a %q", kind, p.kind)
	}
	return nil
}

// Paged adds the options of a page to a request for JSON.
func Paged(request *rest.Request, opts metav1.ListOptions) *rest.Request {
	request = request.Param("limit", strconv.FormatInt(opts.Limit, 10))
	if opts.Continue != "" {
		request = request.Param("continue", opts.Continue)
	}
	if opts.FieldSelector != "" {
		request = request.Param("fieldSelector", opts.FieldSelector)
	}
	return request
}

// maxStarts is how often a list is started before the client gives up. An API
// server keeps the state behind a list for about five minutes: a list that expires
// this often will not finish.
const maxStarts = 4

// ReadAll reads a list to its end and returns its contents and the number of its
// objects. After an error there are none.
//
// A list whose state expires between two pages is started again, and what was read
// of it is thrown away. The server offers a token to continue in its present state,
// and client-go's pager would request the rest in one piece: the first mixes two
// states, the second has no bound on memory.
func ReadAll[T any](ctx context.Context, c *Client, l List[T]) (T, int, error) {
	for range maxStarts {
		contents, items, err := readOnce(ctx, c, l)
		// A gateway may respond with 410 without the reason that an API server gives.
		if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			return contents, items, err
		}
	}
	var none T
	return none, 0, fmt.Errorf("the list expired %d times before it was complete", maxStarts)
}

// maxEmpty is how many pages without any object may follow each other.
const maxEmpty = 100

// readBuffer is how many bytes of a response are held while it is decoded. Most
// objects are smaller, and are decoded in place.
const readBuffer = 32 << 10

// readOnce reads the pages of a list one after the other, all of one state.
func readOnce[T any](ctx context.Context, c *Client, l List[T]) (T, int, error) {
	var none T
	// After an error, whatever is still on its way is of no use.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := reader[T]{client: c, list: l, body: bufio.NewReaderSize(nil, readBuffer), limit: maxLimit, tokens: map[string]bool{}}
	items, empty := 0, 0
	for coming := c.request(ctx, l.Request, metav1.ListOptions{Limit: cmp.Or(c.opts.PageSize, l.First, firstLimit)}); coming != nil; {
		p, next, err := r.page(ctx, coming)
		if err != nil {
			return none, 0, err
		}
		items += p.items
		if empty++; p.items > 0 {
			empty = 0
		}
		if empty > maxEmpty {
			next.drop()
			return none, 0, errRepeats
		}
		coming = next
	}
	return r.contents, items, nil
}

// reader reads a list to its end. A response is decoded as it comes in, so that no
// page is in memory as a whole, however large its objects are.
type reader[T any] struct {
	client   *Client
	list     List[T]
	contents T // of the pages so far
	body     *bufio.Reader
	buffer   bytes.Buffer
	limit    int64           // the most objects requested at once
	tokens   map[string]bool // of the pages so far
}

// page reads the page that was requested. The next one is requested as soon as its
// token is known, so that the server works while this one is decoded; after the last
// page it is nil.
func (r *reader[T]) page(ctx context.Context, q *pageRequest) (p *Page, next *pageRequest, err error) {
	if r.tokens[q.opts.Continue] {
		q.drop()
		return nil, nil, errRepeats
	}
	r.tokens[q.opts.Continue] = true
	again := false
	err = r.client.retry(q.ctx, func(context.Context) error {
		// An earlier try may have seen another state of the cluster.
		next.drop()
		next = nil
		if again {
			q.opts.Limit = r.client.smaller(q.opts.Limit)
			r.limit = q.opts.Limit
		}
		again = true
		response := q.receive()
		defer response.close()
		if response.err != nil {
			return response.err
		}
		before := r.contents
		p = &Page{Opts: q.opts, kind: r.list.Kind, buffer: &r.buffer}
		p.headed = func(bytes int64) {
			if p.next != "" {
				opts := metav1.ListOptions{Limit: r.client.following(q.opts.Limit, bytes, r.limit), Continue: p.next}
				next = r.client.request(ctx, r.list.Request, opts)
			}
		}
		r.body.Reset(response.body)
		if err := r.list.Read(r.body, p, &r.contents); err != nil {
			r.contents = before
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

// The number of objects requested at once, unless the options say: as many as
// kubectl requests at first, and then as many as make a response of a few MiB. A
// server may have to look at all remaining objects for each page, so small pages
// make a large list slow; and it holds a response as a whole, so large objects are
// requested in small pages. The next page's objects may be larger than the last
// page's: a page that the server failed to send is requested again at half the size.
const (
	firstLimit  = 500
	minLimit    = 50
	maxLimit    = 4000
	maxGrowth   = 4
	bytesOfPage = 4 << 20
)

// following returns how many objects to request after a page of so many objects and
// about so many bytes, but at most limit.
func (c *Client) following(objects, bytes, limit int64) int64 {
	if c.opts.PageSize > 0 || bytes <= 0 {
		return objects
	}
	fitting := max(objects*bytesOfPage/bytes, minLimit)
	return min(fitting, objects*maxGrowth, limit)
}

// smaller returns how many objects to request after a page of so many failed.
func (c *Client) smaller(objects int64) int64 {
	if c.opts.PageSize > 0 {
		return objects
	}
	return min(objects, max(objects/2, minLimit))
}

// pageRequest is a request for a page. The first try is on its way.
type pageRequest struct {
	ctx    context.Context
	build  func(metav1.ListOptions) *rest.Request
	opts   metav1.ListOptions
	first  chan response // receives the response to the first try, nil once that is received
	cancel context.CancelFunc
}

// response is a response that is not read yet.
type response struct {
	body   io.ReadCloser
	cancel context.CancelFunc // of the request, so that nothing waits for an unwanted body
	err    error
}

func (r *response) close() {
	r.cancel()
	if r.err == nil {
		_ = r.body.Close() // it was read, or is not wanted
	}
}

// request requests a page. The response need not be received.
func (c *Client) request(ctx context.Context, build func(metav1.ListOptions) *rest.Request, opts metav1.ListOptions) *pageRequest {
	q := &pageRequest{ctx: c.usage.begin(ctx), build: build, opts: opts, first: make(chan response, 1)}
	once, cancel := context.WithCancel(q.ctx)
	q.cancel = cancel
	first := q.first
	go func() {
		body, err := build(opts).Stream(once)
		first <- response{body, cancel, err}
	}()
	return q
}

// receive returns the response, and sends the request again when called again. The
// caller closes the response.
func (q *pageRequest) receive() response {
	if q.first != nil {
		r := <-q.first
		q.first = nil
		return r
	}
	once, cancel := context.WithCancel(q.ctx)
	body, err := q.build(q.opts).Stream(once)
	return response{body, cancel, err}
}

// drop abandons a response that was not received. It may be called on nil.
func (q *pageRequest) drop() {
	if q == nil || q.first == nil {
		return
	}
	q.cancel()
	first := q.first
	go func() {
		r := <-first
		r.close()
	}()
}

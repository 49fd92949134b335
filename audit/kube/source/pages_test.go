package source_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// overload is a server that gives up on pages of more objects than it bears.
type overload struct {
	bears  int
	mu     sync.Mutex
	limits []int
}

func (o *overload) RoundTrip(r *http.Request) (*http.Response, error) {
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	o.mu.Lock()
	defer o.mu.Unlock()
	o.limits = append(o.limits, limit)
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	const all = 3000
	answer := &http.Response{StatusCode: http.StatusGatewayTimeout, Request: r, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("no"))}
	if limit > o.bears && from > 0 {
		return answer, nil
	}
	var names []string
	for i := from; i < min(from+limit, all); i++ {
		names = append(names, fmt.Sprint("i", i))
	}
	next := ""
	if from+limit < all {
		next = strconv.Itoa(from + limit)
	}
	answer.StatusCode, answer.Body = http.StatusOK, io.NopCloser(bytes.NewReader(ingressPageOf(next, names)))
	return answer, nil
}

// ingressPageOf is a page of small objects in JSON.
func ingressPageOf(next string, names []string) []byte {
	var items []string
	for _, name := range names {
		items = append(items, `{"metadata":{"namespace":"shop","name":"`+name+`"}}`)
	}
	return []byte(`{"kind":"IngressList","metadata":{"resourceVersion":"7","continue":"` + next + `"},"items":[` + strings.Join(items, ",") + `]}`)
}

// What a server does not manage at once it may manage by halves.
func TestPagesThatAreTooLargeAreAskedForByHalves(t *testing.T) {
	server := &overload{bears: 300}
	source, err := source.New(&rest.Config{Host: "http://127.0.0.1:1", Transport: server}, source.Options{Sleep: func(context.Context, time.Duration) {}})
	if err != nil {
		t.Fatal(err)
	}
	s := read(t, source, ingresses)
	if r := s.Reads()[0]; r.Status != snapshot.Listed || r.Items != 3000 || len(ingressNames(s)) != 3000 {
		t.Errorf("read %+v, by pages of %d", r, server.limits)
	}
	if largest := slices.Max(server.limits[len(server.limits)-3:]); largest > server.bears {
		t.Errorf("the last pages are asked for by %d", largest)
	}
}

// A server may name page after page and never come to an end.
func TestPagesWithoutEnd(t *testing.T) {
	for name, next := range map[string]func(q url.Values, n int) (string, []string){
		"two that name each other": func(q url.Values, _ int) (string, []string) {
			return map[string]string{"": "a", "a": "b", "b": "a"}[q.Get("continue")], []string{"x"}
		},
		"one after the other without an object": func(_ url.Values, n int) (string, []string) { return strconv.Itoa(n), nil },
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64 // what is given up may still be on its way
			s := readFrom(t, func(q url.Values) io.Reader {
				token, names := next(q, int(requests.Add(1)))
				return bytes.NewReader(ingressPage(t, token, 0, names...))
			})
			if r := s.Reads()[0]; r.Status != snapshot.Failed || len(ingressNames(s)) > 0 || requests.Load() > 200 {
				t.Errorf("after %d requests: %+v", requests.Load(), r)
			}
		})
	}
}

// An answer that was refused is not waited for to its end, which may never come.
func TestRefusedAnswerIsNotWaitedFor(t *testing.T) {
	var requests atomic.Int64
	cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"items":{}`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	s := read(t, newSource(t, cfg, source.Options{}), ingresses)
	if r := s.Reads()[0]; r.Status != snapshot.Failed || requests.Load() != 5 {
		t.Errorf("after %d requests: %+v", requests.Load(), r)
	}
}

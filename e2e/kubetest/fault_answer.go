package kubetest

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"
)

func delay(d time.Duration) Answer {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		select {
		case <-time.After(d):
			next.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}
}

// lose lets the server carry the request out and keeps its answer.
func lose(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// truncate takes the last bytes from an answer, but never all.
func truncate(bytes int) Answer {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		whole := taken(r, next)
		whole.body = whole.body[:min(len(whole.body), max(1, len(whole.body)-bytes))]
		whole.send(w)
	}
}

// shuffle changes the order of the items of a list, which it asks for as JSON. What
// is no list passes.
func shuffle(seed uint64) Answer {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		r = r.Clone(r.Context())
		r.Header.Set("Accept", "application/json")
		whole := taken(r, next)
		var list map[string]json.RawMessage
		var items []json.RawMessage
		if json.Unmarshal(whole.body, &list) == nil && json.Unmarshal(list["items"], &items) == nil {
			rand.New(rand.NewPCG(seed, 0)).Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
			// What came from JSON goes back to it.
			list["items"], _ = json.Marshal(items)
			whole.body, _ = json.Marshal(list)
		}
		whole.send(w)
	}
}

// kept is an answer of the server.
type kept struct {
	code   int
	header http.Header
	body   []byte
}

// taken lets the server answer, and takes its answer.
func taken(r *http.Request, next http.Handler) kept {
	rec := httptest.NewRecorder()
	next.ServeHTTP(rec, r)
	return kept{rec.Code, rec.Header(), bytes.Clone(rec.Body.Bytes())}
}

func (k kept) send(w http.ResponseWriter) {
	maps.Copy(w.Header(), k.header)
	w.Header().Set("Content-Length", strconv.Itoa(len(k.body)))
	w.WriteHeader(k.code)
	_, _ = w.Write(k.body)
}

package kubetest

import (
	"net/http"
	"strings"
	"sync"
)

// memory holds the lists that a server answered with, to answer with them again.
type memory struct {
	mu      sync.Mutex
	answers map[string][]kept // by request
	page    map[string]kept   // the last page of a list, by its request without "later"
}

func newMemory() *memory { return &memory{answers: map[string][]kept{}, page: map[string]kept{}} }

// remember lets the server answer, and remembers the answer if it is a list.
func (m *memory) remember(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.Method != http.MethodGet || r.URL.Query().Get("limit") == "" {
		next.ServeHTTP(w, r)
		return
	}
	whole := taken(r, next)
	if whole.code == http.StatusOK {
		name := describe(r)
		m.mu.Lock()
		m.answers[name] = append(m.answers[name], whole)
		m.page[list(name)] = whole
		m.mu.Unlock()
	}
	whole.send(w)
}

func list(request string) string { return strings.TrimSuffix(request, " later") }

// has reports whether there is an answer to a request for a fault.
func (m *memory) has(kind FaultKind, r *http.Request) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := describe(r)
	if kind == Repeated {
		_, ok := m.page[list(name)]
		return ok && list(name) != name
	}
	return len(m.answers[name]) > 0
}

// stale answers with an earlier answer, the last one being none ago.
func (m *memory) stale(ago int) Answer {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		m.mu.Lock()
		all := m.answers[describe(r)]
		old := all[len(all)-1-ago%len(all)]
		m.page[list(describe(r))] = old
		m.mu.Unlock()
		old.send(w)
	}
}

// repeat answers with the page that was answered with before.
func (m *memory) repeat() Answer {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		m.mu.Lock()
		old := m.page[list(describe(r))]
		m.mu.Unlock()
		old.send(w)
	}
}

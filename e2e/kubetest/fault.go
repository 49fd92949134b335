package kubetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault is what goes wrong with one request of a Script. The zero value is no fault.
type Fault struct {
	Kind FaultKind
	// N is a parameter of some kinds, see there.
	N int
}

// FaultKind is a way in which a request can go wrong.
type FaultKind string

// The kinds of faults.
const (
	// Refused is answered with the HTTP status N in the format of an API server,
	// Blocked in the format of a gateway. Neither reaches the server.
	Refused FaultKind = "refuse"
	Blocked FaultKind = "block"
	// Delayed reaches the server N milliseconds late.
	Delayed FaultKind = "delay"
	// Dropped does not reach the server; Lost does and is carried out. In both cases
	// the connection breaks and the client gets no response.
	Dropped FaultKind = "drop"
	Lost    FaultKind = "lose"
	// Torn breaks the connection after N bytes of the response. Truncated is a valid
	// HTTP response whose body lacks its last N bytes, but has at least one.
	Torn      FaultKind = "cut"
	Truncated FaultKind = "truncate"
	// Hung is not answered until the client gives up.
	Hung FaultKind = "hang"
	// Shuffled changes the order of a list; N is the seed.
	Shuffled FaultKind = "shuffle"
	// Stale repeats an earlier response to the same request, N responses ago.
	// Repeated answers a request for a later page with the page before it. Without
	// an earlier response the request is forwarded.
	Stale    FaultKind = "stale"
	Repeated FaultKind = "repeat"
)

// withN are the kinds that use N.
var withN = []FaultKind{Refused, Blocked, Delayed, Torn, Truncated, Shuffled, Stale}

// faultKinds are all kinds.
var faultKinds = append([]FaultKind{Dropped, Lost, Hung, Repeated}, withN...)

// String returns the fault as ParseFault reads it.
func (f Fault) String() string {
	if slices.Contains(withN, f.Kind) {
		return string(f.Kind) + " " + strconv.Itoa(f.N)
	}
	return string(f.Kind)
}

// ParseFault reads a fault as String writes it.
func ParseFault(text string) (Fault, error) {
	kind, number, _ := strings.Cut(text, " ")
	f := Fault{Kind: FaultKind(kind)}
	if slices.Contains(withN, f.Kind) {
		n, err := strconv.Atoi(number)
		if err != nil {
			return Fault{}, fmt.Errorf("read fault %q: %w", text, err)
		}
		f.N = n
	}
	if !slices.Contains(faultKinds, f.Kind) || f.String() != text {
		return Fault{}, fmt.Errorf("read fault %q: unknown fault", text)
	}
	return f, nil
}

// answer returns the handler of a request with the fault.
func (f Fault) answer(h *history) Answer {
	switch f.Kind {
	case Refused:
		return refuse(f.N)
	case Blocked:
		return Text(f.N, "<html>"+http.StatusText(f.N)+"</html>")
	case Delayed:
		return delay(time.Duration(f.N) * time.Millisecond)
	case Dropped:
		return func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }
	case Lost:
		return carryOutSilently
	case Torn:
		return Cut(f.N)
	case Truncated:
		return truncate(f.N)
	case Hung:
		return Hang()
	case Shuffled:
		return shuffle(uint64(f.N))
	case Stale:
		return h.stale(f.N)
	case Repeated:
		return h.repeat()
	}
	return nil
}

// refuse answers with a status and the reason that an API server gives for it.
func refuse(code int) Answer {
	switch code {
	case http.StatusTooManyRequests:
		return TooManyRequests(-1)
	case http.StatusGone:
		return Expire()
	}
	reasons := map[int]metav1.StatusReason{
		http.StatusUnauthorized: metav1.StatusReasonUnauthorized, http.StatusForbidden: metav1.StatusReasonForbidden,
		http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusConflict: metav1.StatusReasonConflict,
		http.StatusInternalServerError: metav1.StatusReasonInternalError,
		http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
		http.StatusGatewayTimeout:      metav1.StatusReasonTimeout,
	}
	return Fail(code, reasons[code], "a fault: "+http.StatusText(code))
}

func delay(d time.Duration) Answer {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		select {
		case <-time.After(d):
			next.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}
}

// carryOutSilently lets the server carry out the request and drops the response.
func carryOutSilently(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// truncate removes the last bytes of a response body, but keeps at least one.
func truncate(bytes int) Answer {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		whole := record(r, next)
		whole.body = whole.body[:min(len(whole.body), max(1, len(whole.body)-bytes))]
		whole.send(w)
	}
}

// shuffle changes the order of the items of a list, which it requests as JSON. Other
// responses are unchanged.
func shuffle(seed uint64) Answer {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		r = r.Clone(r.Context())
		r.Header.Set("Accept", "application/json")
		whole := record(r, next)
		var list map[string]json.RawMessage
		var items []json.RawMessage
		if json.Unmarshal(whole.body, &list) == nil && json.Unmarshal(list["items"], &items) == nil {
			rand.New(rand.NewPCG(seed, 0)).Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
			// Both were decoded from JSON, so they can be encoded.
			list["items"], _ = json.Marshal(items)
			whole.body, _ = json.Marshal(list)
		}
		whole.send(w)
	}
}

// recorded is a response of the server.
type recorded struct {
	code   int
	header http.Header
	body   []byte
}

// record calls the server and returns its response.
func record(r *http.Request, next http.Handler) recorded {
	rec := httptest.NewRecorder()
	next.ServeHTTP(rec, r)
	return recorded{rec.Code, rec.Header(), bytes.Clone(rec.Body.Bytes())}
}

func (k recorded) send(w http.ResponseWriter) {
	maps.Copy(w.Header(), k.header)
	w.Header().Set("Content-Length", strconv.Itoa(len(k.body)))
	w.WriteHeader(k.code)
	_, _ = w.Write(k.body)
}

// history holds the list responses of a server for Stale and Repeated.
type history struct {
	mu      sync.Mutex
	answers map[string][]recorded // by request
	page    map[string]recorded   // the last page of a list, by its request without "later"
}

func newHistory() *history {
	return &history{answers: map[string][]recorded{}, page: map[string]recorded{}}
}

// remember calls the server and keeps the response if it is a list.
func (h *history) remember(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.Method != http.MethodGet || r.URL.Query().Get("limit") == "" {
		next.ServeHTTP(w, r)
		return
	}
	whole := record(r, next)
	if whole.code == http.StatusOK {
		name := describe(r)
		h.mu.Lock()
		h.answers[name] = append(h.answers[name], whole)
		h.page[list(name)] = whole
		h.mu.Unlock()
	}
	whole.send(w)
}

func list(request string) string { return strings.TrimSuffix(request, " later") }

// has reports whether there is an earlier response for a fault of the request.
func (h *history) has(kind FaultKind, r *http.Request) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	name := describe(r)
	if kind == Repeated {
		_, ok := h.page[list(name)]
		return ok && list(name) != name
	}
	return len(h.answers[name]) > 0
}

// stale answers with an earlier response; the latest has the number zero.
func (h *history) stale(ago int) Answer {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		h.mu.Lock()
		all := h.answers[describe(r)]
		old := all[len(all)-1-ago%len(all)]
		h.page[list(describe(r))] = old
		h.mu.Unlock()
		old.send(w)
	}
}

// repeat answers with the previous page.
func (h *history) repeat() Answer {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		h.mu.Lock()
		old := h.page[list(describe(r))]
		h.mu.Unlock()
		old.send(w)
	}
}

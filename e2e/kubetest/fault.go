package kubetest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault is what goes wrong with one request, as it stands in a Script. The zero
// value is that nothing does.
type Fault struct {
	Kind FaultKind
	// N means what the kind says of it, and nothing where it says nothing.
	N int
}

// FaultKind is a way for a request to go wrong.
type FaultKind string

// The kinds of faults.
const (
	// Refused is answered with the HTTP status N in an API server's words, and
	// Blocked with that status in a gateway's. The server sees neither.
	Refused FaultKind = "refuse"
	Blocked FaultKind = "block"
	// Delayed reaches the server N milliseconds late.
	Delayed FaultKind = "delay"
	// Dropped does not reach the server, Lost does and is carried out: of both the
	// client gets no answer and a broken connection.
	Dropped FaultKind = "drop"
	Lost    FaultKind = "lose"
	// Torn is a connection that breaks after N bytes of the answer. Truncated is
	// an answer that is whole to HTTP and lacks its last N bytes, or all but one.
	Torn      FaultKind = "cut"
	Truncated FaultKind = "truncate"
	// Hung is not answered until the client gives up.
	Hung FaultKind = "hang"
	// Shuffled is a list in another order, drawn by N.
	Shuffled FaultKind = "shuffle"
	// Stale is answered with what the same request was answered earlier, N answers
	// ago; Repeated, a request for a later page, with the page before it. Where
	// there is no such answer the request passes.
	Stale    FaultKind = "stale"
	Repeated FaultKind = "repeat"
)

// withN are the kinds to which N means something.
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
		return Fault{}, fmt.Errorf("read fault %q: there is no such fault", text)
	}
	return f, nil
}

// answer returns how a request with the fault is answered.
func (f Fault) answer(m *memory) Answer {
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
		return lose
	case Torn:
		return Cut(f.N)
	case Truncated:
		return truncate(f.N)
	case Hung:
		return Hang()
	case Shuffled:
		return shuffle(uint64(f.N))
	case Stale:
		return m.stale(f.N)
	case Repeated:
		return m.repeat()
	}
	return nil
}

// refuse answers with a status for the reason that an API server gives with it.
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

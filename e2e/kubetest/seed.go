package kubetest

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"strings"
)

// Odds are how often requests go wrong.
type Odds struct {
	// Once is the chance of each request, Always that of all requests that are the
	// same within an act: no patience helps against the latter.
	Once, Always float64
}

// Seeded returns a function that picks faults by chance. Its choice depends on the
// seed, the step and the odds of the act, and on nothing else.
func Seeded(seed uint64, odds func(act int) Odds) func(Step) Fault {
	return func(s Step) Fault {
		o := odds(s.Act)
		same := s
		same.N = 0
		if r := chance(seed, same.String()); r.Float64() < o.Always {
			return draw(r, s)
		}
		if r := chance(seed, s.String()); r.Float64() < o.Once {
			return draw(r, s)
		}
		return Fault{}
	}
}

// chance returns a source of numbers for a name.
func chance(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	_ = binary.Write(h, binary.BigEndian, seed)
	_, _ = h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// draw draws a fault that can happen to a step.
func draw(r *rand.Rand, s Step) Fault {
	// One that hangs costs a run all the time that it has.
	if r.IntN(200) == 0 {
		return Fault{Kind: Hung}
	}
	kinds := []FaultKind{Refused, Refused, Blocked, Delayed, Dropped, Lost, Torn, Truncated}
	if s.Again {
		kinds = append(kinds, Shuffled, Stale, Stale)
		if strings.HasSuffix(s.Request, " later") {
			kinds = append(kinds, Repeated)
		}
	}
	f := Fault{Kind: kinds[r.IntN(len(kinds))]}
	switch f.Kind {
	case Refused:
		codes := []int{
			http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone, http.StatusTooManyRequests,
			http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		}
		if !strings.HasPrefix(s.Request, http.MethodGet) {
			codes = append(codes, http.StatusConflict)
		}
		f.N = codes[r.IntN(len(codes))]
	case Blocked:
		codes := []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusBadGateway, http.StatusServiceUnavailable}
		f.N = codes[r.IntN(len(codes))]
	case Delayed:
		f.N = 1 + r.IntN(20)
	case Torn:
		f.N = r.IntN(2000)
	case Truncated:
		f.N = 1 + r.IntN(200)
	case Shuffled:
		f.N = r.IntN(1000)
	case Stale:
		f.N = r.IntN(3)
	}
	return f
}

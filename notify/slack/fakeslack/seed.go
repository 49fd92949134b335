package fakeslack

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"time"
)

// Seeded returns a function that picks faults by chance: odds is that of each
// request of an act. Its choice depends on the seed, the step and the odds, and on
// nothing else.
func Seeded(seed uint64, odds func(act int) float64) func(Step) Fault {
	return func(s Step) Fault {
		h := fnv.New64a()
		_ = binary.Write(h, binary.BigEndian, seed)
		_, _ = h.Write([]byte(s.String()))
		r := rand.New(rand.NewPCG(seed, h.Sum64()))
		if r.Float64() >= odds(s.Act) {
			return Fault{}
		}
		return draw(r)
	}
}

// draw draws a fault.
func draw(r *rand.Rand) Fault {
	// One that hangs costs all the time that the client has.
	if r.IntN(100) == 0 {
		return Fault{Hang: true, Stored: r.IntN(2) == 0}
	}
	faults := []Fault{
		{Cut: true},
		{Cut: true, Stored: true},
		{Cut: true, Stored: true},
		{Status: http.StatusTooManyRequests, RetryAfter: time.Second},
		{Status: http.StatusTooManyRequests},
		{Status: http.StatusInternalServerError},
		{Status: http.StatusInternalServerError, Stored: true},
		{Status: http.StatusServiceUnavailable},
		{Status: http.StatusOK}, // an empty page
		{Status: http.StatusForbidden},
		{Error: "internal_error"},
		{Error: "fatal_error", Stored: true},
		{Error: "ratelimited"},
		{Error: "invalid_blocks"},
		{Error: "thread_not_found"},
		{Error: "channel_not_found"},
		{Error: "invalid_auth"},
	}
	return faults[r.IntN(len(faults))]
}

package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// lateAfter is the number of intervals after which a sweep that does not end, or does
// not begin, counts as stuck.
const lateAfter = 3

// phase is what the process is doing.
type phase int

const (
	phaseStarting phase = iota // requesting the lease, or about to sweep
	phaseBlocked               // requests for the lease fail
	phaseStandby               // another process leads
	phaseSweep
	phasePause // between two sweeps
)

// health is the state of the process as probes see it.
type health struct {
	now         func() time.Time
	late        time.Duration
	unreachable func() error // see Election

	mu     sync.Mutex
	phase  phase
	due    time.Time // of the sweep that runs, or that comes next
	ended  int       // sweeps that ended since the process last started to lead
	worked bool      // one of them worked
}

// starting forgets what an earlier term as leader showed: it proves nothing about
// the next.
func (h *health) starting() {
	h.set(func() { h.phase, h.ended, h.worked = phaseStarting, 0, false })
}

func (h *health) blocked()    { h.set(func() { h.phase = phaseBlocked }) }
func (h *health) standingBy() { h.set(func() { h.phase = phaseStandby }) }
func (h *health) sweeping()   { h.set(func() { h.phase, h.due = phaseSweep, h.now() }) }

func (h *health) swept(worked bool) {
	h.set(func() { h.ended, h.worked = h.ended+1, h.worked || worked })
}

func (h *health) pausing(pause time.Duration) {
	h.set(func() { h.phase, h.due = phasePause, h.now().Add(pause) })
}

func (h *health) set(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

// alive returns why the process is stuck and should be restarted, nil if it is not.
// An API server that is unreachable, a missing right and a rule that fails are not
// reasons: another process would not get further.
func (h *health) alive() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	over := h.now().Sub(h.due)
	if over <= h.late {
		return nil
	}
	switch h.phase {
	case phaseSweep:
		return fmt.Errorf("a sweep has been running for %s", over.Round(time.Second))
	case phasePause:
		return fmt.Errorf("a sweep has been overdue for %s", over.Round(time.Second))
	}
	return nil
}

// ready returns why the process has not yet proven that it works, nil if it has: as a
// leader by one sweep without a failure, which takes every right and every address that is
// needed; on standby, by reaching the API server. So a rollout with a wrong role stops
// at its first pod.
//
// A leader stays ready when a later sweep fails. That is a fact about the
// cluster, which the log, the report and the metrics show; if the pod left its Service
// because of it, nobody could fetch the metrics when they matter most. An API server
// that is unreachable for a while does not make a leader unready either: the next sweep
// shows.
func (h *health) ready() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.phase == phaseStandby:
		if err := h.unreachable(); err != nil {
			return fmt.Errorf("standing by, but %w", err)
		}
		return nil
	case h.worked:
		return nil
	case h.phase == phaseStarting:
		return errors.New("not started yet")
	case h.phase == phaseBlocked:
		return errors.New("cannot request the lease, see the log")
	case h.ended == 0:
		return errors.New("the first sweep has not finished yet")
	}
	return errors.New("no sweep without a failure yet, see the log")
}

// handler serves the health and, where there are any, the metrics, and nothing else.
func handler(h *health, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, h.alive(), http.StatusInternalServerError)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, h.ready(), http.StatusServiceUnavailable)
	})
	if metrics != nil {
		mux.Handle("GET /metrics", metrics)
	}
	return mux
}

// respond answers ok, or the code and one line with the error.
func respond(w http.ResponseWriter, err error, code int) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if err == nil {
		fmt.Fprintln(w, "ok")
		return
	}
	w.WriteHeader(code)
	fmt.Fprintln(w, err)
}

// healthServer serves health and metrics to every client that can reach it, so
// what it serves names the cluster but no object in it.
type healthServer struct{ server *http.Server }

// closeWithin is how long open requests may take when the server is closed.
const closeWithin = time.Second

// startServer listens on an address and serves there until it is closed. Without
// an address it does nothing.
func startServer(ctx context.Context, address string, pages http.Handler, log *slog.Logger) (*healthServer, error) {
	if address == "" {
		return &healthServer{}, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	server := &http.Server{
		Handler: pages,
		// A client that is slow, or sends without end, holds up only itself.
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	log.Info("listening", "address", listener.Addr().String())
	go func() {
		// Sweeps go on; probes find out.
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("HTTP server failed", "err", err)
		}
	}()
	return &healthServer{server}, nil
}

// close stops listening and lets open requests finish.
func (s *healthServer) close() {
	if s.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close() // the process is about to exit
	}
}

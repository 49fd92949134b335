package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// healthServer serves what the process knows of itself, to whoever can reach it:
// of the cluster what it says names nothing but its name, and no object.
type healthServer struct{ server *http.Server }

// closeWithin is how long the requests that are being answered may take when the
// server is closed.
const closeWithin = time.Second

// startServer listens on an address and serves there until it is closed. With no
// address it does nothing.
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
		// The sweeps go on. Whoever probes the process will find out.
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("cannot serve any more", "err", err)
		}
	}()
	return &healthServer{server}, nil
}

// close stops listening and lets the answers under way end.
func (s *healthServer) close() {
	if s.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close() // nobody waits for what it would say
	}
}

// handler answers on its paths, and on no other. There may be no metrics.
func handler(h *health, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		tell(w, h.alive(), http.StatusInternalServerError)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		tell(w, h.ready(), http.StatusServiceUnavailable)
	})
	if metrics != nil {
		mux.Handle("GET /metrics", metrics)
	}
	return mux
}

// tell answers ok, or with the code and the one line of an error.
func tell(w http.ResponseWriter, err error, code int) {
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

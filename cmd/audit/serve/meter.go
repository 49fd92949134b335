package serve

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube"
	"github.com/eventuallytrue/audit/notify/metrics"
)

// Meter turns sweeps into metrics, which it pushes to a gateway and serves. A nil
// Meter does neither.
type Meter struct {
	Pusher   *metrics.Pusher   // nil: metrics are not pushed
	Exporter *metrics.Exporter // nil: metrics are not served
	Now      func() time.Time
	Clients  []Client
}

// Client is one of the API server's clients in this process, by the name that metrics
// have for it.
type Client struct {
	Name string
	API  interface{ Usage() kube.Usage }
}

// Reading is what a Meter reads when a sweep begins.
type Reading struct {
	at    time.Time
	usage []kube.Usage // by client
}

// Begin returns the reading at the beginning of a sweep.
func (m *Meter) Begin() Reading {
	if m == nil {
		return Reading{}
	}
	r := Reading{at: m.Now()}
	for _, c := range m.Clients {
		r.usage = append(r.usage, c.API.Usage())
	}
	return r
}

// End makes metrics of a sweep that has ended, successfully or not. The error is that
// of the push. A sweep that was canceled has no metrics: the process is stopping, or
// another one sweeps now.
func (m *Meter) End(ctx context.Context, began Reading, res *audit.Result, published *audit.Published, err error) error {
	if m == nil || errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	s := &metrics.Sweep{Began: began.at, Ended: m.Now(), Result: res, Published: published, Err: err}
	for i, c := range m.Clients {
		u := c.API.Usage().Minus(began.usage[i])
		s.Clients = append(s.Clients, metrics.Client{Name: c.Name, Requests: u.Requests, Retries: u.Retries, Bytes: u.Bytes})
	}
	if m.Exporter != nil {
		m.Exporter.Update(s)
	}
	if m.Pusher == nil {
		return nil
	}
	if ctx.Err() != nil {
		// A sweep that took too long is worth pushing, too.
		ctx = context.WithoutCancel(ctx)
	}
	return m.Pusher.Push(ctx, s)
}

// clear removes the results of sweeps from what is served.
func (m *Meter) clear() {
	if m != nil && m.Exporter != nil {
		m.Exporter.Clear()
	}
}

// handler serves the metrics, nil if there are none to serve.
func (m *Meter) handler() http.Handler {
	if m == nil || m.Exporter == nil {
		return nil
	}
	return m.Exporter.Handler()
}

package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube"
	"github.com/eventuallytrue/audit/notify/metrics"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// meter makes metrics of sweeps: it pushes them to a gateway, and shows them on a
// board. A nil one does neither.
type meter struct {
	gateway *metrics.Gateway // nil: they are not pushed
	board   *metrics.Board   // nil: they are not shown
	now     func() time.Time
	clients []client
}

// client is one of those that ask the API server.
type client struct {
	name string
	api  interface{ Usage() kube.Usage }
}

// usage is that of clients of which each serves one sweep. It belongs to whoever
// sweeps.
type usage struct{ used kube.Usage }

// Usage returns what all of them have used.
func (u *usage) Usage() kube.Usage { return u.used }

// newMeter makes the meter that the config asks for. A sweep that is to change
// nothing anywhere pushes nothing.
func (o *sweepOptions) newMeter(publisher *audit.Publisher, lock audit.Lock) (*meter, error) {
	m := &meter{now: o.now}
	add := func(name string, of any) {
		if api, ok := of.(interface{ Usage() kube.Usage }); ok {
			m.clients = append(m.clients, client{name, api})
		}
	}
	add("source", o.source)
	add("findings", publisher.Store)
	if o.config.Events {
		add("events", &o.recorded)
	}
	if t, ok := lock.(turns); ok {
		add("lease", t.lease)
	}
	words := o.vocabulary()
	if !o.once {
		m.board = metrics.NewBoard(o.config.Cluster, words)
	}
	p := &o.config.Pushgateway
	if p.URL == "" || o.publishing.dryRun {
		return m, nil
	}
	var err error
	m.gateway, err = metrics.NewGateway(metrics.Options{
		URL: string(p.URL), Timeout: time.Duration(p.Timeout),
		Username: p.BasicAuth.Username, PasswordFile: p.BasicAuth.PasswordFile, BearerTokenFile: p.BearerTokenFile,
		CAFile: p.CAFile, CertFile: p.CertFile, KeyFile: p.KeyFile,
	}, o.config.Cluster, words)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// vocabulary are the words that metrics may have as labels: those of the program
// and of the config.
func (o *sweepOptions) vocabulary() metrics.Vocabulary {
	v := metrics.Vocabulary{Version: version()}
	for _, r := range catalog.All() {
		v.Rules = append(v.Rules, r.Name)
	}
	if o.config.Owners.Fallback != "" {
		v.Owners = append(v.Owners, o.config.Owners.Fallback)
	}
	for _, t := range o.config.Owners.Teams {
		v.Owners = append(v.Owners, t.Name)
	}
	v.Kinds = slices.DeleteFunc(audit.Needs(catalog.All()), func(k snapshot.Kind) bool { return k == snapshot.HostSources })
	for _, s := range o.config.EnabledHostSources() {
		v.Kinds = append(v.Kinds, s.Kind)
	}
	return v
}

// reading is what a meter shows when a sweep begins.
type reading struct {
	at    time.Time
	usage []kube.Usage // by client
}

func (m *meter) begin() reading {
	if m == nil {
		return reading{}
	}
	r := reading{at: m.now()}
	for _, c := range m.clients {
		r.usage = append(r.usage, c.api.Usage())
	}
	return r
}

// end makes metrics of a sweep that has ended, however it did. The error is that
// of a push. Of a sweep that was cancelled nothing is told: the program ends, or
// somebody else sweeps now.
func (m *meter) end(ctx context.Context, began reading, res *audit.Result, published *audit.Published, err error) error {
	if m == nil || errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	s := &metrics.Sweep{Began: began.at, Ended: m.now(), Result: res, Published: published, Err: err}
	for i, c := range m.clients {
		u := c.api.Usage().Minus(began.usage[i])
		s.Clients = append(s.Clients, metrics.Client{Name: c.name, Requests: u.Requests, Retries: u.Retries, Bytes: u.Bytes})
	}
	if m.board != nil {
		m.board.Show(s)
	}
	if m.gateway == nil {
		return nil
	}
	if ctx.Err() != nil {
		// That the sweep took too long is worth telling, too.
		ctx = context.WithoutCancel(ctx)
	}
	return m.gateway.Push(ctx, s)
}

// clear takes down what is shown of sweeps.
func (m *meter) clear() {
	if m != nil && m.board != nil {
		m.board.Clear()
	}
}

// handler serves what is shown, nil if nothing is.
func (m *meter) handler() http.Handler {
	if m == nil || m.board == nil {
		return nil
	}
	return m.board.Handler()
}

package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/eventuallytrue/audit/audit"
)

// EventOptions tune Events. A field that is zero stands for its default.
type EventOptions struct {
	// UserAgent names the program in the API server's audit log.
	UserAgent string
	// Instance is what reports: the name of the pod or the host; "audit" by
	// default.
	Instance string
	// PerFinding is on how many objects of one finding Events are recorded, 20
	// by default, and PerSweep how many after one sweep, 500 by default.
	PerFinding, PerSweep int
	// Parallel is how many requests are under way at once; 8 by default.
	Parallel int
	// Sleep waits before a request is tried again, and returns early when the
	// context ends. By default it takes the time it is given.
	Sleep func(context.Context, time.Duration)
}

// recordFor is how long recording may take after one sweep. What is not recorded by
// then never is: an Event that comes much later than what it tells of is no help.
const recordFor = time.Minute

// Events records what becomes of findings as Events on the objects that they rest
// on, where kubectl describe shows them. They are written into the namespaces of
// those objects, on those that belong to no namespace into "default".
//
// Events are a copy for people who look at an object. The API server forgets them
// after a while, and one that could not be recorded is not made up for: what owners
// are told does not hang on them.
//
// client-go's recorder is not used: it sends in the background, so that a process
// that ends at once loses what it recorded, and under a name that differs each time.
type Events struct {
	conn      *Source // makes requests with the patience of a source
	objects   metadata.Interface
	namespace string // of the findings
	opts      EventOptions
}

// NewEvents returns what records Events in the cluster that the config leads to, of
// findings that are kept in a namespace. It connects to nothing yet. The config is
// not changed.
func NewEvents(cfg *rest.Config, namespace string, opts EventOptions) (*Events, error) {
	opts.Instance = cmp.Or(opts.Instance, "audit")
	opts.PerFinding = cmp.Or(opts.PerFinding, 20)
	opts.PerSweep = cmp.Or(opts.PerSweep, 500)
	opts.Parallel = cmp.Or(opts.Parallel, 8)
	conn, err := NewSource(cfg, Options{UserAgent: opts.UserAgent, Sleep: opts.Sleep})
	if err != nil {
		return nil, fmt.Errorf("make recorder of events: %w", err)
	}
	cfg = rest.CopyConfig(cfg)
	if opts.UserAgent != "" {
		cfg.UserAgent = opts.UserAgent
	}
	cfg.QPS, cfg.RateLimiter = -1, nil
	cfg.WarningHandler = rest.NoWarnings{}
	objects, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make recorder of events: %w", err)
	}
	return &Events{conn: conn, objects: objects, namespace: namespace, opts: opts}, nil
}

// Record records what a sweep that began at the given time made of findings, and
// returns when all is recorded or given up. The name of an Event follows from what
// it tells and that time: to record the same sweep again adds nothing. Objects that
// are gone get none.
//
// It returns one delivery for all Events that were recorded, and one for those that
// failed and were refused each, with an example of the reason.
func (e *Events) Record(ctx context.Context, at time.Time, published *audit.Published) []audit.Delivery {
	p := e.plan(published)
	if len(p.entries) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, recordFor, errors.New("there was no time left"))
	defer cancel()
	// The client logs what it also returns as an error.
	ctx = klog.NewContext(ctx, klog.Logger{})
	found := e.find(ctx, p.refs())
	results := make([]recorded, len(p.entries))
	e.each(len(p.entries), func(i int) {
		entry := p.entries[i]
		target := found[entry.ref]
		switch {
		case target.err != nil:
			results[i] = recorded{err: target.err}
		case target.object == nil:
			results[i] = recorded{gone: true}
		default:
			results[i] = e.create(ctx, e.event(entry, at, target.object))
		}
	})
	return p.deliveries(results)
}

// recorded is what became of one Event. The zero value is one that was recorded.
type recorded struct {
	gone bool // nothing is there that it could be recorded on
	err  error
}

// create stores an Event. One of its name tells the same, whoever stored it, so a
// request that may have been carried out although it failed can be made again.
func (e *Events) create(ctx context.Context, ev *eventsv1.Event) recorded {
	client := e.conn.client.EventsV1().Events(ev.Namespace)
	err := e.patiently(ctx, func(ctx context.Context) error {
		_, err := client.Create(ctx, ev, metav1.CreateOptions{})
		return err
	})
	return outcomeOf(err)
}

// patiently is retry, after which the end of the context has its cause.
func (e *Events) patiently(ctx context.Context, request func(context.Context) error) error {
	err := e.conn.retry(ctx, request)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// each calls a function for each of n, several at a time.
func (e *Events) each(n int, do func(int)) {
	var wait sync.WaitGroup
	slots := make(chan struct{}, e.opts.Parallel)
	for i := range n {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			do(i)
		})
	}
	wait.Wait()
}

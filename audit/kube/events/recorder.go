// Package events records what becomes of findings as Events on the objects that they
// are about, where kubectl describe shows them.
package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/audit/kube"
)

// Options configure a Recorder. A zero field means its default.
type Options struct {
	// UserAgent identifies the program in the API server's audit log.
	UserAgent string
	// Instance is the reporting instance: the name of the pod or the host; "audit" by
	// default.
	Instance string
	// PerFinding is on how many objects of one finding Events are recorded, 20 by
	// default, and PerSweep how many are recorded after one sweep, 500 by default.
	PerFinding, PerSweep int
	// Parallel is how many requests are made at once; 8 by default.
	Parallel int
	// Sleep is that of kube.Options.
	Sleep func(context.Context, time.Duration)
}

// timeout is how long recording may take after one sweep. What is not recorded by then
// never is: an Event that comes much later is no help.
const timeout = time.Minute

// Recorder records what becomes of findings as Events on the objects that they are
// about. Events are written into the namespaces of those objects; for objects without a
// namespace, into "default".
//
// Events are a copy for people who look at an object. The API server deletes them after
// a while, and one that could not be recorded is not recorded later: notifications of
// owners do not depend on them.
//
// client-go's recorder is not used: it sends in the background, so that a process that
// exits at once loses what it recorded, and each Event gets a random name.
type Recorder struct {
	client    *kube.Client
	objects   metadata.Interface
	customs   []ingest.Custom
	namespace string // of the findings
	opts      Options
}

// New returns a recorder for the cluster that the config points to, of findings that
// are stored in a namespace. It does not connect yet. The config is not changed.
func New(cfg *rest.Config, namespace string, opts Options) (*Recorder, error) {
	opts.Instance = cmp.Or(opts.Instance, "audit")
	opts.PerFinding = cmp.Or(opts.PerFinding, 20)
	opts.PerSweep = cmp.Or(opts.PerSweep, 500)
	opts.Parallel = cmp.Or(opts.Parallel, 8)
	client, err := kube.NewClient(cfg, kube.Options{UserAgent: opts.UserAgent, Sleep: opts.Sleep})
	if err != nil {
		return nil, fmt.Errorf("make recorder of events: %w", err)
	}
	objects, err := metadata.NewForConfig(kube.Config(cfg, opts.UserAgent))
	if err != nil {
		return nil, fmt.Errorf("make recorder of events: %w", err)
	}
	return &Recorder{client: client, objects: objects, customs: ingest.Customs(), namespace: namespace, opts: opts}, nil
}

// Usage returns what the recorder has requested since it was made.
func (r *Recorder) Usage() kube.Usage { return r.client.Usage() }

// Record records what a sweep that began at the given time did with findings, and
// returns when every Event is recorded or has failed. The name of an Event follows from
// its content and that time: recording the same sweep again adds nothing. Objects that
// are gone get no Event.
//
// It returns one delivery for all Events that were recorded, one for those that failed,
// and one for those that were refused, with an example of the reason.
func (r *Recorder) Record(ctx context.Context, at time.Time, published *audit.Published) []audit.Delivery {
	p := r.plan(published)
	if len(p.entries) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errors.New("recording took too long"))
	defer cancel()
	ctx = kube.Quiet(ctx)
	found := r.find(ctx, p.refs())
	results := make([]result, len(p.entries))
	r.each(len(p.entries), func(i int) {
		entry := p.entries[i]
		target := found[entry.ref]
		switch {
		case target.err != nil:
			results[i] = result{err: target.err}
		case target.object == nil:
			results[i] = result{gone: true}
		default:
			results[i] = r.create(ctx, r.event(entry, at, target.object))
		}
	})
	return p.deliveries(results)
}

// result is the result of recording one Event. The zero value is one that was recorded.
type result struct {
	gone bool // the object or its namespace is gone
	err  error
}

// create stores an Event. One with the same name has the same content, whichever
// publisher stored it, so a request that may have succeeded although it failed can be
// sent again.
func (r *Recorder) create(ctx context.Context, e *eventsv1.Event) result {
	client := r.client.Clientset().EventsV1().Events(e.Namespace)
	err := r.retry(ctx, func(ctx context.Context) error {
		_, err := client.Create(ctx, e, metav1.CreateOptions{})
		return err
	})
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return result{}
	// The namespace is gone, or terminating: it accepts nothing new.
	case apierrors.IsNotFound(err) && !kube.NotServed(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return result{gone: true}
	}
	return result{err: err}
}

// retry is kube.Client.Retry that returns the cause of a context that ended.
func (r *Recorder) retry(ctx context.Context, request func(context.Context) error) error {
	err := r.client.Retry(ctx, request)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// each calls a function for each number below n, several at a time.
func (r *Recorder) each(n int, do func(int)) {
	var calls errgroup.Group
	calls.SetLimit(r.opts.Parallel)
	for i := range n {
		calls.Go(func() error { do(i); return nil })
	}
	_ = calls.Wait() // no call returns an error
}

// sender is the name of Events among the senders.
const sender = "events"

// deliveries sums up the results of a plan's Events.
func (p *plan) deliveries(results []result) []audit.Delivery {
	n := map[audit.DeliveryResult]int{}
	example := map[audit.DeliveryResult]string{}
	for i, res := range results {
		switch {
		case res.gone:
		case res.err == nil:
			n[audit.DeliverySent]++
		default:
			result := audit.DeliveryFailed
			if kube.Rejected(res.err) {
				result = audit.DeliveryRefused
			}
			if n[result]++; n[result] == 1 {
				example[result] = kube.Line(fmt.Sprintf("on %s: %s", p.entries[i].ref, kube.Reason(res.err)))
			}
		}
	}
	var out []audit.Delivery
	for _, result := range []audit.DeliveryResult{audit.DeliveryFailed, audit.DeliveryRefused, audit.DeliverySent} {
		d := audit.Delivery{Sender: sender, Result: result}
		switch {
		case n[result] == 0:
			continue
		case result != audit.DeliverySent:
			d.Reason = fmt.Sprintf("%d of %d Events, such as the one %s", n[result], len(results), example[result])
		case p.left > 0:
			d.Reason = fmt.Sprintf("%d objects beyond the limit got no Event", p.left)
		}
		out = append(out, d)
	}
	return out
}

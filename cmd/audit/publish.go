package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/audit/kube"
	"github.com/eventuallytrue/audit/audit/kube/events"
	"github.com/eventuallytrue/audit/audit/kube/lease"
	"github.com/eventuallytrue/audit/audit/kube/store"
	"github.com/eventuallytrue/audit/cmd/audit/serve"
	"github.com/eventuallytrue/audit/notify/metrics"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// publishOptions are the flags of storing findings in the cluster.
type publishOptions struct {
	readOptions

	publish      bool
	dryRun       bool
	retryRefused bool
	slackURL     string
	namespace    string // of the findings
	lease        leaseOptions
}

func (o *publishOptions) addFlags(flags *pflag.FlagSet) {
	o.readOptions.addFlags(flags)
	flags.BoolVar(&o.publish, "publish", false,
		"Store findings in the cluster, notify owners and push metrics. Without it, nothing is written. Changes the default of --fail-on to none")
	flags.BoolVar(&o.dryRun, "dry-run", false,
		"With --once --publish: print the messages that owners would get, without sending or storing anything. With --from, as if all findings were new")
	flags.StringVar(&o.slackURL, "slack-api-url", "https://slack.com/api/", "Base URL of Slack's Web API, which receives the bot token")
	flags.BoolVar(&o.retryRefused, "retry-refused", false,
		"Try at once to send messages that a receiver refused less than an hour ago, such as after fixing a channel")
	addFindingsNamespace(flags, &o.namespace)
	o.lease.addFlags(flags)
	flags.Lookup("slack-api-url").Hidden = true
}

func addFindingsNamespace(flags *pflag.FlagSet, namespace *string) {
	flags.StringVar(namespace, "findings-namespace", "audit", "Namespace in which findings are stored")
}

// checkFindingsNamespace rejects an invalid name before anything is read.
func checkFindingsNamespace(name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return fmt.Errorf("--findings-namespace: %q: %s", name, strings.Join(problems, "; "))
	}
	return nil
}

// checkPublish rejects flags under which a sweep must not be published: a part of
// the cluster would be taken for all of it.
func (o *publishOptions) checkPublish(flags *pflag.FlagSet) error {
	if flags.Changed("from") && !o.dryRun {
		return errors.New("--from cannot be used with --publish, which needs a sweep of the whole cluster: add --dry-run to preview the messages")
	}
	for _, name := range []string{"namespace", "rule", "previous"} {
		if flags.Changed(name) {
			return fmt.Errorf("--%s cannot be used with --publish, which needs a sweep of the whole cluster", name)
		}
	}
	if err := checkFindingsNamespace(o.namespace); err != nil {
		return err
	}
	if o.lease.wait < 0 {
		return fmt.Errorf("--lease-wait: must not be negative, got %s", o.lease.wait)
	}
	return nil
}

// publication publishes sweeps.
type publication struct {
	publisher *audit.Publisher
	lock      *leaseLock // nil: without leader election
	meter     *serve.Meter
	events    *eventRecorder
}

// open makes what publishing needs from the cluster. The function is called with the
// error of a lease that could not be released.
func (o *publishOptions) open(exporter *metrics.Exporter, unreleased func(error)) (*publication, error) {
	if len(o.from) > 0 {
		return o.openOffline()
	}
	cfg, err := restConfig(o.connection)
	if err != nil {
		return nil, err
	}
	findings, err := store.New(cfg, o.namespace, store.Options{UserAgent: userAgent()})
	if err != nil {
		return nil, err
	}
	source, err := o.rereader()
	if err != nil {
		return nil, err
	}
	var p publication
	n := o.notifying()
	if o.lease.elect && !o.dryRun {
		note := func() lease.Note {
			return lease.Note{Config: o.configDigest, Delivery: n.digest(o.configDigest), At: o.now()}
		}
		if p.lock, err = o.lease.open(cfg, o.namespace, note, unreleased); err != nil {
			return nil, err
		}
		n.changedAt = func() time.Time { return p.lock.history().DeliverySince }
	}
	var stored audit.Store = findings
	if o.dryRun {
		stored = previewStore{findings, o.note}
	}
	notifiers, err := n.open(stored)
	if err != nil {
		return nil, err
	}
	p.publisher = &audit.Publisher{
		Store: stored, Source: source, Fit: findings.Fit, Notifier: notifiers, DryRun: o.dryRun,
		Reconciler: o.reconciler(),
	}
	p.events = o.newEventRecorder(cfg)
	p.meter, err = o.newMeter(&p, exporter)
	return &p, err
}

// openOffline makes what a preview from manifests needs: there are no stored findings,
// nothing can be read again, and no time passes after which a finding would open.
func (o *publishOptions) openOffline() (*publication, error) {
	var p publication
	memory := &serve.Memory{}
	notifiers, err := o.notifying().open(memory)
	if err != nil {
		return nil, err
	}
	p.publisher = &audit.Publisher{
		Store: memory, Fit: store.FitFinding, Notifier: notifiers, DryRun: true, Reconciler: o.reconciler(),
	}
	p.publisher.Reconciler.Hold = func(string) audit.Hold { return audit.Hold{} }
	p.meter, err = o.newMeter(&p, nil)
	return &p, err
}

// notifying returns what makes the notifiers of the config.
func (o *publishOptions) notifying() *notifying {
	return &notifying{
		config: &o.config, token: o.getenv(slackTokenEnv), slackURL: o.slackURL, namespace: o.namespace,
		leased: o.lease.elect, dryRun: o.dryRun, now: o.now, retryRefused: o.retryRefused, note: o.note,
	}
}

// note prints what a user should know of a preview.
func (o *publishOptions) note(text string) {
	fmt.Fprintf(o.err, "audit: note: %s\n", safeLine(text))
}

// previewStore is the store of a preview, which is possible before anything is installed
// and by someone who may not read findings.
type previewStore struct {
	*store.Store
	note func(string)
}

// Load implements audit.Store.
func (s previewStore) Load(ctx context.Context) ([]audit.Stored, []string, error) {
	stored, newer, err := s.Store.Load(ctx)
	// Without the right to read findings, the server does not say that there are none.
	if kube.NotServed(err) || apierrors.IsForbidden(err) {
		s.note(err.Error() + "; this preview shows all findings as new")
		return nil, nil, nil
	}
	return stored, newer, err
}

// rereader returns the source as one from which findings can be confirmed.
func (o *publishOptions) rereader() (audit.Rereader, error) {
	if source, ok := o.source.(audit.Rereader); ok {
		return source, nil
	}
	return nil, errors.New("the source cannot be read again")
}

// reconciler returns the config's settings of how findings open and resolve.
func (o *publishOptions) reconciler() audit.Reconciler {
	return audit.Reconciler{
		Hold: o.hold, Keep: time.Duration(o.config.Findings.KeepResolved), MaxNew: int(o.config.Limits.NewFindings),
		MaxStored:        int(o.config.Limits.StoredFindings),
		MaxNotifications: store.MaxNotifications,
	}
}

// newMeter returns the meter of a publication. A dry run, and a process that does not
// publish, push nothing.
func (o *publishOptions) newMeter(p *publication, exporter *metrics.Exporter) (*serve.Meter, error) {
	m := &serve.Meter{Exporter: exporter, Now: o.now}
	add := func(name string, client any) {
		if api, ok := client.(interface{ Usage() kube.Usage }); ok {
			m.Clients = append(m.Clients, serve.Client{Name: name, API: api})
		}
	}
	add("source", o.source)
	add("findings", p.publisher.Store)
	if p.events != nil {
		add("events", p.events)
	}
	if p.lock != nil {
		add("lease", p.lock.lease)
	}
	var err error
	if o.publish && !o.dryRun {
		m.Pusher, err = newPusher(&o.config)
	}
	return m, err
}

// hold returns how long new violations of a rule stay pending.
func (o *publishOptions) hold(rule string) audit.Hold {
	for _, r := range catalog.All() {
		if r.Name == rule {
			return o.config.Settings(r).Hold
		}
	}
	return audit.Hold{}
}

// sweep sweeps and publishes under a lock.
func (o *publishOptions) sweep(ctx context.Context, p *publication, set []*rules.Rule, readWithin time.Duration, lock audit.Lock) (*audit.Result, *audit.Published, error) {
	res, published, err := audit.SweepAndPublish(ctx, timed{o.source, readWithin, o.watch}, set, &o.config, o.now, p.publisher, lock)
	if failures := p.lock.contested(o.now()); res != nil {
		res.Unpublished = append(failures, res.Unpublished...)
	}
	p.events.record(ctx, res, published)
	return res, published, err
}

// sweepOnce sweeps and publishes once. The result says what could not be published; an
// error means that there is none.
func (o *publishOptions) sweepOnce(ctx context.Context, set []*rules.Rule) (*audit.Result, error) {
	p, err := o.open(nil, func(err error) { fmt.Fprintf(o.err, "audit: %s\n", safeLine(err.Error())) })
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	var lock audit.Lock = noLock{}
	if p.lock != nil {
		lock = p.lock
	}
	began := p.meter.Begin()
	res, published, err := o.sweep(ctx, p, set, o.timeout, lock)
	// The lock is released by now, so a slow gateway holds up no other publisher.
	unpushed := p.meter.End(ctx, began, res, published, err)
	if res == nil {
		return nil, errors.Join(err, unpushed)
	}
	res.Unpublished = append(res.Unpublished, serve.PushFailures(unpushed)...)
	if published != nil && len(published.Newer) > 0 {
		fmt.Fprintf(o.err, "audit: a newer version of audit wrote these findings, which stay unchanged: %s\n", safeLine(strings.Join(published.Newer, ", ")))
	}
	return res, nil
}

// eventRecorder records changes of findings as Events on their objects. It needs no
// lease: an Event that two processes record is one Event.
type eventRecorder struct {
	cfg       *rest.Config
	namespace string
	used      kube.Usage
}

// newEventRecorder returns nil, which records nothing, in a dry run and where the config
// does not ask for Events.
func (o *publishOptions) newEventRecorder(cfg *rest.Config) *eventRecorder {
	if !o.config.Events || o.dryRun {
		return nil
	}
	return &eventRecorder{cfg: cfg, namespace: o.namespace}
}

// Usage returns what recording Events has used so far.
func (e *eventRecorder) Usage() kube.Usage { return e.used }

// record records Events and adds the outcome to the deliveries. A failure does not
// undo the sweep.
func (e *eventRecorder) record(ctx context.Context, res *audit.Result, published *audit.Published) {
	if e == nil || res == nil || published == nil {
		return
	}
	host, _ := os.Hostname() // for people; the library has a name where there is none
	recorder, err := events.New(e.cfg, e.namespace, events.Options{UserAgent: userAgent(), Instance: host})
	var done []audit.Delivery
	if err != nil {
		done = []audit.Delivery{{Sender: "events", Result: audit.DeliveryFailed, Reason: err.Error()}}
	} else {
		done = recorder.Record(ctx, res.Started, published)
		e.used = e.used.Plus(recorder.Usage())
	}
	published.Deliveries = append(published.Deliveries, done...)
	slices.SortFunc(published.Deliveries, audit.CompareDeliveries)
	res.Deliveries = published.Deliveries
}

// newPusher returns the pusher to the Pushgateway of the config, nil if it has none.
func newPusher(c *config.Config) (*metrics.Pusher, error) {
	p := &c.Pushgateway
	if p.URL == "" {
		return nil, nil
	}
	return metrics.NewPusher(metrics.Options{
		URL: string(p.URL), Timeout: time.Duration(p.Timeout),
		Username: p.BasicAuth.Username, PasswordFile: p.BasicAuth.PasswordFile, BearerTokenFile: p.BearerTokenFile,
		CAFile: p.CAFile, CertFile: p.CertFile, KeyFile: p.KeyFile,
	}, c.Cluster, labelValues(c))
}

// labelValues returns the values that labels of metrics may have: those of the program
// and of the config, never those of the cluster.
func labelValues(c *config.Config) metrics.LabelValues {
	v := metrics.LabelValues{Version: version()}
	for _, r := range catalog.All() {
		v.Rules = append(v.Rules, r.Name)
	}
	if c.Owners.Fallback != "" {
		v.Owners = append(v.Owners, c.Owners.Fallback)
	}
	for _, t := range c.Owners.Teams {
		v.Owners = append(v.Owners, t.Name)
	}
	v.Kinds = slices.DeleteFunc(audit.Needs(catalog.All()), func(k snapshot.Kind) bool { return k == snapshot.HostSources })
	for _, s := range c.EnabledHostSources() {
		if !slices.Contains(v.Kinds, s.Kind) {
			v.Kinds = append(v.Kinds, s.Kind)
		}
	}
	return v
}

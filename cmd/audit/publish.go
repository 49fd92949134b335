package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube/store"
	"github.com/eventuallytrue/audit/rules/catalog"
)

// publishOptions are the flags of keeping findings in the cluster.
type publishOptions struct {
	publish   bool
	dryRun    bool
	slackURL  string
	namespace string
	leaseWait time.Duration

	leaderElect                    bool
	leaseFor, renewFor, retryAfter time.Duration
}

func (p *publishOptions) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&p.publish, "publish", false,
		"keep findings as objects of the cluster: open, update and resolve them; --fail-on is none then, unless it is given")
	flags.BoolVar(&p.dryRun, "dry-run", false,
		"with --once --publish: print the messages that owners would be sent; send and store nothing")
	flags.StringVar(&p.slackURL, "slack-api-url", "https://slack.com/api/", "where Slack's Web API is; the token goes there")
	flags.StringVar(&p.namespace, "findings-namespace", "audit", "namespace that findings are kept in")
	flags.DurationVar(&p.leaseWait, "lease-wait", time.Minute, "how long to wait while somebody else publishes")
	flags.BoolVar(&p.leaderElect, "leader-elect", true,
		"take turns by a Lease: without --once the others stand by and sweep nothing, with --once --publish they wait; false touches no Lease")
	// As kube-controller-manager has them. Nobody should need to change them.
	flags.DurationVar(&p.leaseFor, "leader-elect-lease-duration", 15*time.Second, "how long a leader that says nothing is waited for")
	flags.DurationVar(&p.renewFor, "leader-elect-renew-deadline", 10*time.Second, "how long a leader tries to renew its lease before it is lost")
	flags.DurationVar(&p.retryAfter, "leader-elect-retry-period", 2*time.Second, "time between two tries")
	for _, name := range []string{"slack-api-url", "leader-elect-lease-duration", "leader-elect-renew-deadline", "leader-elect-retry-period"} {
		flags.Lookup(name).Hidden = true
	}
}

// completePublish refuses what must not be published: a part of the truth would
// be taken for all of it.
func (o *sweepOptions) completePublish(flags *pflag.FlagSet) error {
	for _, name := range []string{"from", "namespace", "rule", "previous"} {
		if flags.Changed(name) {
			return fmt.Errorf("--%s shows a part or another world, which must not be published", name)
		}
	}
	if !flags.Changed("fail-on") {
		o.threshold = 0
	}
	if err := checkFindingsNamespace(o.publishing.namespace); err != nil {
		return err
	}
	if o.publishing.leaseWait < 0 {
		return fmt.Errorf("--lease-wait: %s is less than nothing", o.publishing.leaseWait)
	}
	return nil
}

// checkFindingsNamespace refuses what is no name of a namespace before anything
// is read.
func checkFindingsNamespace(name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return fmt.Errorf("--findings-namespace: %q: %s", name, strings.Join(problems, "; "))
	}
	return nil
}

// openStore makes what publishing needs of the cluster.
func (o *sweepOptions) openStore() (*audit.Publisher, audit.Lock, error) {
	cfg, err := restConfig(o.connection)
	if err != nil {
		return nil, nil, err
	}
	findings, err := store.New(cfg, o.publishing.namespace, store.Options{UserAgent: userAgent()})
	if err != nil {
		return nil, nil, err
	}
	source, ok := o.source.(audit.Rereader)
	if !ok {
		return nil, nil, errors.New("the source cannot be read again")
	}
	lock, err := o.newLock(cfg)
	if err != nil {
		return nil, nil, err
	}
	teller, err := o.openTeller(findings)
	if err != nil {
		return nil, nil, err
	}
	return &audit.Publisher{
		Store: findings, Source: source, Fit: store.FitFinding, Notifier: teller, DryRun: o.publishing.dryRun,
		Reconciler: audit.Reconciler{
			Hold: o.hold, Keep: time.Duration(o.config.Findings.KeepResolved), MaxNew: int(o.config.Limits.NewFindings),
			MaxNotifications: store.MaxNotifications,
		},
	}, lock, nil
}

// hold returns how long a rule's new violations are held back.
func (o *sweepOptions) hold(rule string) audit.Hold {
	for _, r := range catalog.All() {
		if r.Name == rule {
			return o.config.Settings(r).Hold
		}
	}
	return audit.Hold{}
}

// sweepAndPublish sweeps and publishes. What could not be published makes the
// sweep incomplete.
func (o *sweepOptions) sweepAndPublish(ctx context.Context) (*audit.Result, error) {
	publisher, lock, err := o.openStore()
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	meter, err := o.newMeter(publisher, lock)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	began := meter.begin()
	res, published, err := audit.SweepAndPublish(ctx, timed{o.source, o.timeout}, o.set, &o.config, o.now, publisher, lock)
	o.recordEvents(ctx, publisher, res, published)
	// The lock is given back by now: a gateway that is slow holds up nobody else.
	unpushed := meter.end(ctx, began, res, published, err)
	if err != nil {
		return res, errors.Join(err, unpushed)
	}
	if len(published.Newer) > 0 {
		fmt.Fprintf(o.err, "audit: a newer audit wrote these findings, which are left alone: %s\n", safeLine(strings.Join(published.Newer, ", ")))
	}
	if len(published.Failed) > 0 {
		return res, errors.Join(fmt.Errorf("write findings:\n%s", someLines(published.Failed)), unpushed)
	}
	return res, errors.Join(undelivered(published.Deliveries), unpushed)
}

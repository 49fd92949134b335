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
	"golang.org/x/term"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/audit/ingest/budget"
	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/audit/manifests"
	"github.com/eventuallytrue/audit/notify/report"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// readOptions are the flags of the commands that read objects and print something,
// and the values made from them.
type readOptions struct {
	command
	formats []report.Format // that the command can write besides report.Formats

	from       []string
	exclude    []string
	namespace  string // of manifests that name none
	output     string
	configPath string
	timeout    time.Duration
	connection *genericclioptions.ConfigFlags

	format       report.Format
	config       config.Config
	configDigest string // of the file, without what flags say
	source       audit.Source
	rest         *rest.Config                          // of the cluster; nil for manifests
	watch        func(*snapshot.Builder) (stop func()) // of the progress; nil if no one watches
}

func (o *readOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.from, "from", nil,
		"Read manifests from this file or folder, or - for standard input, instead of a cluster. Can be repeated")
	flags.StringArrayVar(&o.exclude, "exclude", nil,
		"With --from: leave out files and folders that match this pattern, such as node_modules or charts/**/templates. Can be repeated")
	flags.StringVar(&o.namespace, "default-namespace", metav1.NamespaceDefault,
		"With --from: namespace of objects that name none")
	flags.StringVarP(&o.output, "output", "o", "table", "Output format. One of: "+o.formatNames())
	flags.StringVar(&o.configPath, "config", "", "Path of the config file. Without one, the defaults apply")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute,
		"Maximum time for reading. Kinds that were not read by then are reported as unknown")
	o.connection = newConnection()
	addConnection(flags, o.connection)
}

// formatNames lists the formats that the command can write.
func (o *readOptions) formatNames() string {
	var names []string
	for _, f := range append(report.Formats(), o.formats...) {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// checkFlags checks the flags that every reading command has.
func (o *readOptions) checkFlags() error {
	var err error
	if o.format, err = report.ParseFormat(o.output, o.formats...); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	return positive("timeout", o.timeout)
}

func positive(flag string, d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("--%s: must be greater than 0, got %s", flag, d)
	}
	return nil
}

// readConfig reads the config file, if there is one.
func (o *readOptions) readConfig() error {
	o.config = config.Default()
	o.configDigest = o.config.Digest()
	if o.configPath == "" {
		return nil
	}
	var err error
	if o.config, err = config.Read(o.configPath, catalog.All()); err != nil {
		return &exitError{exitUsage, err}
	}
	o.configDigest = o.config.Digest()
	return nil
}

// enabledRules returns the rules that are selected by flags and enabled in the config.
func (o *readOptions) enabledRules(names []string) ([]*rules.Rule, error) {
	set, err := selectRules(names)
	if err != nil {
		return nil, err
	}
	var enabled []*rules.Rule
	var off []string
	for _, r := range set {
		if o.config.Settings(r).Enabled {
			enabled = append(enabled, r)
		} else {
			off = append(off, r.Name)
		}
	}
	if len(names) > 0 && len(off) > 0 {
		return nil, fmt.Errorf("disabled in %s: %s", o.configPath, strings.Join(off, ", "))
	}
	return enabled, nil
}

// open checks the flags that every reading command has, reads the config and makes the
// source.
func (o *readOptions) open(flags *pflag.FlagSet) error {
	if err := o.checkFlags(); err != nil {
		return err
	}
	if err := o.readConfig(); err != nil {
		return err
	}
	return o.openSource(flags)
}

// read reads some kinds, for a command that evaluates no rules.
func (o *readOptions) read(ctx context.Context, kinds ...snapshot.Kind) (*snapshot.Snapshot, audit.Reading, error) {
	done := o.progress()
	var b snapshot.Builder
	met, err := timed{o.source, o.timeout, nil}.Read(ctx, kinds, &b)
	done()
	if err != nil {
		return nil, met, &exitError{exitIncomplete, fmt.Errorf("read namespaces: %w", err)}
	}
	return b.Freeze(), met, nil
}

// openSource makes the source that the flags select.
func (o *readOptions) openSource(flags *pflag.FlagSet) error {
	if len(o.from) > 0 {
		return o.openManifests(flags)
	}
	for _, name := range []string{"exclude", "default-namespace"} {
		if flags.Changed(name) {
			return fmt.Errorf("--%s requires --from", name)
		}
	}
	cfg, err := restConfig(o.connection)
	if err != nil {
		return err
	}
	if o.config.Cluster == "" {
		o.config.Cluster = clusterName(o.connection, cfg)
	}
	o.rest = cfg
	// What client-go logs it returns as well, so it is reported anyway.
	klog.SetLogger(klog.Logger{})
	o.source, err = source.New(cfg, source.Options{
		UserAgent: userAgent(),
		OwnerKeys: o.config.Owners.Keys, HostSources: o.config.KnownHostSources(),
		ChannelAnnotation:   o.config.Slack.ChannelFrom.NamespaceAnnotation,
		ExternalDNSPrefixes: o.config.Hosts.Prefixes(),
		Limits:              limitsOf(&o.config.Limits),
	})
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("connect to the cluster: %w", err)}
	}
	return nil
}

// limitsOf returns what is kept of objects at most.
func limitsOf(l *config.Limits) budget.Limits {
	return budget.Limits{
		HostsPerObject: int(l.HostsPerObject), HostsPerNamespace: int(l.HostsPerNamespace),
		TermsPerObject: int(l.TermsPerObject), TermsPerNamespace: int(l.TermsPerNamespace),
		LabelsPerObject: int(l.LabelsPerObject), LabelsPerNamespace: int(l.LabelsPerNamespace),
	}
}

func (o *readOptions) openManifests(flags *pflag.FlagSet) error {
	for _, name := range connectionFlags() {
		if flags.Changed(name) {
			return fmt.Errorf("--%s cannot be used with --from, which reads no cluster", name)
		}
	}
	stdin := 0
	for _, path := range o.from {
		if path == "-" {
			stdin++
		}
	}
	if stdin > 1 {
		return errors.New("--from: standard input can be read only once")
	}
	src := &manifests.Source{
		Paths: slices.Clone(o.from), Stdin: o.in,
		Exclude: slices.Clone(o.exclude), DefaultNamespace: o.namespace,
		OwnerKeys: o.config.Owners.Keys, HostSources: o.config.KnownHostSources(),
		ChannelAnnotation:   o.config.Slack.ChannelFrom.NamespaceAnnotation,
		ExternalDNSPrefixes: o.config.Hosts.Prefixes(),
		Limits:              limitsOf(&o.config.Limits),
	}
	if err := src.Check(); err != nil {
		return &exitError{exitUsage, err}
	}
	if o.config.Cluster == "" {
		o.config.Cluster = strings.Join(o.from, " ")
	}
	o.source = src
	return nil
}

// progress prints to standard error what the sweep is reading, if that is a terminal, and
// returns a function that clears the line.
func (o *readOptions) progress() func() {
	f, ok := o.err.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || o.getenv("TERM") == "dumb" {
		return func() {}
	}
	fmt.Fprintf(f, "Reading %s...", safeLine(o.config.Cluster))
	o.watch = func(b *snapshot.Builder) func() {
		return every(progressEvery, func() {
			kinds, objects := b.Progress()
			fmt.Fprintf(f, "\r\x1b[KReading %s... %s, %s", safeLine(o.config.Cluster), rules.Count(kinds, "kind"), rules.Count(objects, "object"))
		})
	}
	return func() { fmt.Fprint(f, "\r\x1b[K") }
}

// progressEvery is how often the line of progress is written.
const progressEvery = 500 * time.Millisecond

// every calls a function again and again until the one that it returns is called.
func every(d time.Duration, do func()) (stop func()) {
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticks := time.NewTicker(d)
		defer ticks.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticks.C:
				do()
			}
		}
	}()
	return func() {
		close(ended)
		<-stopped
	}
}

// noNamespace is the error for a namespace that was selected and does not exist.
// Without it, a mistyped name would look like a namespace without findings.
func (o *readOptions) noNamespace(name string) error {
	return &exitError{exitUsage, fmt.Errorf("--namespace: namespace %q not found in %s", name, o.config.Cluster)}
}

// timed is a source that is read for a limited time. Kinds that were not read by then
// are unknown, and the rest of the sweep still has its own time.
type timed struct {
	source audit.Source
	limit  time.Duration
	watch  func(*snapshot.Builder) (stop func()) // nil if no one watches
}

// reading returns the source with its time limit. People who wait for it see its progress,
// and soon that there is no server.
func (o *readOptions) reading() audit.Source {
	if live, ok := o.source.(*source.Source); ok {
		return timed{&contact{source: live, cfg: o.rest, limit: o.timeout, note: func(text string) {
			fmt.Fprintf(o.err, "audit: %s\n", safeLine(text))
		}}, o.timeout, o.watch}
	}
	return timed{o.source, o.timeout, o.watch}
}

// Read implements audit.Source.
func (t timed) Read(ctx context.Context, kinds []snapshot.Kind, b *snapshot.Builder) (audit.Reading, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.limit, context.DeadlineExceeded)
	defer cancel()
	if t.watch != nil {
		defer t.watch(b)()
	}
	return t.source.Read(ctx, kinds, b)
}

package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/audit/manifests"
)

// fallbackHost is where client-go looks for an API server when nothing says where
// one is. There has been none for years.
const fallbackHost = "http://localhost:8080"

var errNoCluster = errors.New("no cluster is configured: name one with --kubeconfig, --context or --server, or read manifests with --from")

// restConfig returns what leads to the cluster that kubectl's flags name. Every
// error is one of usage.
func restConfig(flags *genericclioptions.ConfigFlags) (*rest.Config, error) {
	cfg, err := flags.ToRESTConfig()
	switch {
	case err != nil:
		err = fmt.Errorf("find the cluster: %w", err)
	case cfg.Host == fallbackHost && *flags.APIServer == "":
		err = errNoCluster
	default:
		return cfg, nil
	}
	return nil, &exitError{exitUsage, withMissingKubeconfig(err, flags.ToRawKubeConfigLoader().ConfigAccess())}
}

// openSource makes the source that the flags ask for.
func (o *sweepOptions) openSource(flags *pflag.FlagSet) error {
	if len(o.from) > 0 {
		return o.openManifests(flags)
	}
	cfg, err := restConfig(o.connection)
	if err != nil {
		return err
	}
	if o.config.Cluster == "" {
		o.config.Cluster = o.clusterName(cfg)
	}
	// What client-go logs on its own, it returns as well, and is reported.
	klog.SetLogger(klog.Logger{})
	o.source, err = source.New(cfg, source.Options{
		UserAgent: userAgent(),
		OwnerKeys: o.config.Owners.Keys, HostSources: o.config.EnabledHostSources(),
		ChannelAnnotation: o.config.Slack.ChannelFrom.NamespaceAnnotation,
	})
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("find the cluster: %w", err)}
	}
	return nil
}

func (o *sweepOptions) openManifests(flags *pflag.FlagSet) error {
	for _, name := range o.connectionFlags() {
		if flags.Changed(name) {
			return fmt.Errorf("--from reads no cluster, so --%s has no meaning beside it", name)
		}
	}
	stdin := 0
	for _, path := range o.from {
		if path == "-" {
			stdin++
		}
	}
	if stdin > 1 {
		return fmt.Errorf("--from: standard input can be read only once")
	}
	src := &manifests.Source{
		Paths: slices.Clone(o.from), Stdin: o.in,
		OwnerKeys: o.config.Owners.Keys, HostSources: o.config.EnabledHostSources(),
		ChannelAnnotation: o.config.Slack.ChannelFrom.NamespaceAnnotation,
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

// clusterName names the cluster by the kubeconfig's context, or by the server
// where there is none, as in a pod.
func (o *sweepOptions) clusterName(cfg *rest.Config) string {
	raw, err := o.connection.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return cfg.Host
	}
	name := raw.CurrentContext
	if o.connection.Context != nil && *o.connection.Context != "" {
		name = *o.connection.Context
	}
	if name == "" {
		return cfg.Host
	}
	return name
}

// progress says on the standard error that the sweep is reading, if that is a
// terminal, and returns what takes the line away again.
func (o *sweepOptions) progress() func() {
	f, ok := o.err.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || o.getenv("TERM") == "dumb" {
		return func() {}
	}
	fmt.Fprintf(f, "reading %s ...", safeLine(o.config.Cluster))
	return func() { fmt.Fprint(f, "\r\x1b[K") }
}

// userAgent names the program in the API server's audit log.
func userAgent() string {
	return fmt.Sprintf("audit/%s (%s/%s)", version(), runtime.GOOS, runtime.GOARCH)
}

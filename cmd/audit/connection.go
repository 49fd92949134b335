package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube"
	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// fallbackHost is where client-go looks for an API server if nothing is configured.
// No API server has served there for years.
const fallbackHost = "http://localhost:8080"

var errNoCluster = errors.New("no cluster is configured: select one with --kubeconfig, --context or --server, or read manifests with --from")

// newConnection returns kubectl's connection flags, except for -n, which selects what
// is shown here, and the discovery cache, which audit does not use.
func newConnection() *genericclioptions.ConfigFlags {
	flags := genericclioptions.NewConfigFlags(true)
	flags.Namespace, flags.CacheDir = nil, nil
	return flags
}

// addConnection adds the connection flags. It counts how often a context is given.
func addConnection(flags *pflag.FlagSet, connection *genericclioptions.ConfigFlags) {
	connection.AddFlags(flags)
	if f := flags.Lookup("context"); f != nil {
		f.Value = &countedValue{Value: f.Value}
	}
}

// countedValue is the value of a flag, with how often it was given.
type countedValue struct {
	pflag.Value
	times int
}

// Set implements pflag.Value.
func (c *countedValue) Set(text string) error {
	c.times++
	return c.Value.Set(text)
}

// oneContext rejects a second context, which would silently replace the first.
func oneContext(flags *pflag.FlagSet) error {
	if f := flags.Lookup("context"); f != nil {
		if c, ok := f.Value.(*countedValue); ok && c.times > 1 {
			return errors.New("--context can be given once: a command reads one cluster")
		}
	}
	return nil
}

// connectionFlags returns the names of the connection flags.
func connectionFlags() []string {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	newConnection().AddFlags(set)
	var names []string
	set.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	slices.Sort(names)
	return names
}

// restConfig returns the client configuration for the cluster that the flags select.
// Every error is one of usage.
func restConfig(flags *genericclioptions.ConfigFlags) (*rest.Config, error) {
	cfg, err := flags.ToRESTConfig()
	switch {
	case err != nil:
		err = fmt.Errorf("connect to the cluster: %w", err)
	case cfg.Host == fallbackHost && *flags.APIServer == "":
		err = errNoCluster
	default:
		return cfg, nil
	}
	return nil, &exitError{exitUsage, withMissingKubeconfig(err, flags.ToRawKubeConfigLoader().ConfigAccess())}
}

// withMissingKubeconfig adds to an error which of the files in KUBECONFIG do not
// exist. Like kubectl, client-go ignores them, and a mistyped path looks like no
// cluster or no context.
func withMissingKubeconfig(err error, access clientcmd.ConfigAccess) error {
	files := access.GetLoadingPrecedence()
	if access.IsExplicitFile() || slices.Equal(files, []string{clientcmd.RecommendedHomeFile}) {
		return err // the flag's file is named already, and the default one is optional
	}
	files = slices.DeleteFunc(files, func(name string) bool {
		_, statErr := os.Stat(name)
		return !errors.Is(statErr, fs.ErrNotExist)
	})
	if len(files) == 0 {
		return err
	}
	return fmt.Errorf("%w; KUBECONFIG names files that do not exist: %s", err, strings.Join(files, ", "))
}

// clusterName returns the context of the kubeconfig, or the server if there is no
// context, as in a pod.
func clusterName(flags *genericclioptions.ConfigFlags, cfg *rest.Config) string {
	raw, err := flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return cfg.Host
	}
	name := raw.CurrentContext
	if flags.Context != nil && *flags.Context != "" {
		name = *flags.Context
	}
	if name == "" {
		return cfg.Host
	}
	return name
}

// userAgent identifies the program in the API server's audit log.
func userAgent() string {
	return fmt.Sprintf("audit/%s (%s/%s)", version(), runtime.GOOS, runtime.GOARCH)
}

// contact is a source that finds out soon whether there is a server. Reading retries for
// much longer, because a server may restart during a sweep.
type contact struct {
	source *source.Source
	cfg    *rest.Config
	limit  time.Duration     // of reading
	note   func(text string) // for people
}

// patience is how long people wait before they learn that a server does not respond.
const patience = 2500 * time.Millisecond

// Read implements audit.Source.
func (c *contact) Read(ctx context.Context, kinds []snapshot.Kind, b *snapshot.Builder) (audit.Reading, error) {
	err := c.connect(ctx)
	if err == nil {
		return c.source.Read(ctx, kinds, b)
	}
	c.source.Unreachable(kinds, err, b)
	return audit.Reading{}, nil
}

// connect returns an error if no connection can be made. Everything else that may be wrong
// is left to reading. A server that lets people wait is named.
func (c *contact) connect(ctx context.Context) error {
	client, err := kube.NewClient(c.cfg, kube.Options{UserAgent: userAgent()})
	if err != nil {
		return nil // as reading will say
	}
	whole := ctx
	ctx, cancel := context.WithTimeout(kube.Quiet(ctx), patience)
	defer cancel()
	for wait := 250 * time.Millisecond; ; wait *= 2 {
		err := client.REST().Get().AbsPath("/version").Do(ctx).Error()
		var status apierrors.APIStatus
		switch {
		case ctx.Err() != nil && whole.Err() == nil:
			c.note(fmt.Sprintf("%s has not responded yet, waiting for up to %s (--timeout)", c.cfg.Host, c.limit))
			return nil
		case err == nil || errors.As(err, &status) || !kube.Transient(err) || whole.Err() != nil:
			return nil
		}
		if kube.Sleep(ctx, wait); whole.Err() != nil {
			return nil
		} else if ctx.Err() != nil {
			return err
		}
	}
}

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
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

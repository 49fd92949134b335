package kubetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync"
)

// apiServer is the API server, whether it runs or not.
type apiServer struct {
	args []string
	port int

	mu      sync.Mutex
	process *process // the last one that was started; nil: none was
}

// prepareServer makes what the API server is started with.
func (c *Cluster) prepareServer(etcdPort, port int, opts Options) error {
	host := cmp.Or(opts.Address, loopback)
	c.URL = "https://" + net.JoinHostPort(host, fmt.Sprint(port))
	if err := c.writeCredentials(host, slices.Concat([]string{Guest}, opts.Users)); err != nil {
		return err
	}
	args := []string{
		"--etcd-servers", local("http", etcdPort),
		"--bind-address", host, "--advertise-address", host,
		"--secure-port", fmt.Sprint(port),
		"--tls-cert-file", c.path("server.crt"), "--tls-private-key-file", c.path("server.key"),
		"--service-account-issuer", "https://kubernetes.default.svc",
		"--service-account-key-file", c.path("server.crt"),
		"--service-account-signing-key-file", c.path("server.key"),
		"--service-cluster-ip-range", serviceRange,
		"--authorization-mode", "RBAC",
		"--token-auth-file", c.path("tokens.csv"),
		"--allow-privileged",
	}
	if !opts.Controlled {
		// There are no ServiceAccounts, and no pod would be admitted.
		args = append(args, "--disable-admission-plugins", "ServiceAccount")
	}
	if host == loopback {
		// There is no other API server to agree with, and a loopback address
		// is no endpoint.
		args = append(args, "--endpoint-reconciler-type", "none")
	}
	c.server.args, c.server.port = append(args, opts.APIServerFlags...), port
	return nil
}

// StopServer ends the API server alone, as an upgrade of it does: requests under
// way may end, then connections break and new ones are refused. What is stored
// stays. It returns when the process is gone and its port is free; where it does
// not run, nothing is done.
func (c *Cluster) StopServer() error {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	return c.server.process.stop()
}

// StartServer starts the API server again after StopServer, at the same URL and
// with the same users, and returns when it is ready. The log begins anew. Where
// the server runs, nothing is done.
func (c *Cluster) StartServer(ctx context.Context) error {
	s := &c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process.runs() {
		return nil
	}
	p, err := c.spawner.start(filepath.Join(c.ToolDir, "kube-apiserver"), c.path("kube-apiserver.log"), []int{s.port}, s.args...)
	if err != nil {
		return err
	}
	s.process = p
	if err := p.await(ctx, answers(c.cert.client(), c.URL+"/readyz", c.user(Admin).token)); err != nil {
		return errors.Join(err, p.stop())
	}
	return nil
}

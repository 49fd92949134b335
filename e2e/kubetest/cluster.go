// Package kubetest runs a real API server for tests and demonstrations: etcd
// and kube-apiserver, each a process of its own, on free ports of 127.0.0.1.
//
// There are no controllers and no node, so objects stay as they were written: a
// ReplicaSet creates no pods, a Namespace gets no ServiceAccount, and a deleted
// Namespace stays until Reset finalizes it. Package node adds controllers and a node.
//
// A test package shares one Cluster through Shared. Programs use Start.
package kubetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Users of every cluster. Admin has all rights. Guest has only the rights of every
// authenticated user and those that Allow grants.
const (
	Admin = "admin"
	Guest = "guest"
)

// Options configure a Cluster. The zero value is ready to use.
type Options struct {
	// Users are additional users, without rights.
	Users []string
	// APIServerFlags are appended to the flags of kube-apiserver.
	APIServerFlags []string
	// Address is the address that the API server listens on, by default
	// 127.0.0.1. Any other address is also advertised to pods.
	Address string
	// Controllers says that a controller manager will run. Only then do pods need
	// a ServiceAccount.
	Controllers bool
	// Dir is the folder for logs, keys and data, which Stop keeps. The default is a
	// temporary folder, which Stop removes.
	Dir string
}

// Cluster is a running control plane. Its methods are safe for concurrent use.
type Cluster struct {
	// URL is the address of the API server.
	URL string
	// ToolDir is the folder with kubectl.
	ToolDir string
	// Dir is the folder with the logs and, until Stop, the data.
	Dir string

	lock    *os.File // lock of Dir; nil if Stop must keep Dir
	users   []user
	cert    certificate
	spawner *spawner
	etcd    *process
	server  apiServer

	mu       sync.Mutex // protects programs
	programs []*process
}

const (
	loopback     = "127.0.0.1"
	serviceRange = "10.96.0.0/16"
)

// serviceIP is the first address of serviceRange, where pods reach the API server.
var serviceIP = net.IPv4(10, 96, 0, 1)

// startTime limits how long a process may take to become ready. On an idle machine it
// takes a few seconds.
const startTime = 2 * time.Minute

// Start runs a control plane and returns when it is ready. The context only applies
// to the start: the caller must Stop the cluster. If the calling process dies before
// that, Linux ends the processes.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	tools, err := Tools(ctx, "etcd", "kube-apiserver", "kubectl")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	// Another process may take a free port before we listen on it.
	const maxTries = 3
	for try := 1; ; try++ {
		c, err := start(ctx, tools, opts)
		if err == nil || try == maxTries || !strings.Contains(err.Error(), "address already in use") {
			return c, err
		}
	}
}

func start(ctx context.Context, tools string, opts Options) (_ *Cluster, err error) {
	c := &Cluster{ToolDir: tools, Dir: opts.Dir}
	if c.Dir == "" {
		if c.Dir, c.lock, err = ClaimFolder(); err != nil {
			return nil, err
		}
	}
	c.spawner = newSpawner()
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	if err := c.startEtcd(ctx, ports[0], ports[1]); err != nil {
		return nil, err
	}
	if err := c.prepareServer(ports[0], ports[2], opts); err != nil {
		return nil, err
	}
	if err := c.StartServer(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Cluster) startEtcd(ctx context.Context, port, peerPort int) (err error) {
	client, peer := local("http", port), local("http", peerPort)
	c.etcd, err = c.spawner.start(filepath.Join(c.ToolDir, "etcd"), c.path("etcd.log"), []int{port, peerPort},
		"--data-dir", c.path("etcd"),
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
		"--initial-cluster", "default="+peer,
		// No one reads the data after a crash.
		"--unsafe-no-fsync",
	)
	if err != nil {
		return err
	}
	return c.etcd.await(ctx, answers(plainClient(), client+"/health", ""))
}

// Stop ends the programs started by Run, the API server and etcd, in this order, and
// returns when their ports are free. Further calls do nothing.
func (c *Cluster) Stop() error {
	err := c.stopPrograms()
	// In the other order, the API server waits for its lost connection to etcd.
	err = errors.Join(err, c.StopServer(), c.etcd.stop())
	c.spawner.close()
	if c.lock != nil {
		err = errors.Join(err, os.RemoveAll(c.Dir))
		// On a second call it is already closed.
		_ = c.lock.Close()
	}
	return err
}

func (c *Cluster) path(name string) string { return filepath.Join(c.Dir, name) }

// apiServer is the API server, running or stopped.
type apiServer struct {
	args []string
	port int

	mu      sync.Mutex
	process *process // the last one started, nil if none was
}

// prepareServer writes the credentials and sets the flags of the API server.
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
	if !opts.Controllers {
		// Without ServiceAccounts the plugin would reject every pod.
		args = append(args, "--disable-admission-plugins", "ServiceAccount")
	}
	if host == loopback {
		// There are no other API servers to reconcile with, and a loopback
		// address is not a valid endpoint.
		args = append(args, "--endpoint-reconciler-type", "none")
	}
	c.server.args, c.server.port = append(args, opts.APIServerFlags...), port
	return nil
}

// StopServer ends only the API server, as an upgrade does: requests in flight may
// finish, then connections break and new ones are refused. The stored data stays. It
// returns when the process has ended and its port is free, and does nothing if the
// server does not run.
func (c *Cluster) StopServer() error {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	return c.server.process.stop()
}

// StartServer starts the API server again after StopServer, at the same URL and with
// the same users and a new log, and returns when it is ready. It does nothing if the
// server runs.
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

// Program is a program to run beside the API server.
type Program struct {
	// Path is the path of the program. Its base name is also the name of its log in
	// the cluster's folder.
	Path string
	Args []string
	// Ready reports whether the program is ready. Run calls it until it returns true
	// or the context ends. With nil, the program is ready at once.
	Ready func(context.Context) bool
}

// Run starts a program in the cluster's folder and returns when it is ready. The
// context only applies to the start. Stop ends the programs in reverse order, before
// the API server. If the calling process dies before that, Linux ends them.
func (c *Cluster) Run(ctx context.Context, program Program) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	name := filepath.Base(program.Path)
	p, err := c.spawner.start(program.Path, c.path(name+".log"), nil, program.Args...)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.programs = append(c.programs, p)
	c.mu.Unlock()
	if program.Ready == nil {
		return nil
	}
	return p.await(ctx, program.Ready)
}

func (c *Cluster) stopPrograms() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for i := len(c.programs) - 1; i >= 0; i-- {
		errs = append(errs, c.programs[i].stop())
	}
	c.programs = nil
	return errors.Join(errs...)
}

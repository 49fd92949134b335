// Package kubetest runs a real API server for tests and demonstrations: etcd
// and kube-apiserver, each a process of its own, on free ports of 127.0.0.1.
//
// There is no controller and no node. What is written stays as it was written:
// no ReplicaSet makes pods, no Namespace gets a ServiceAccount, and a deleted
// Namespace stays until Reset ends it. Package node adds them.
//
// A test package shares one Cluster through Shared. Programs use Start.
package kubetest

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Admin may do everything. Guest may do what every authenticated user may,
// which is next to nothing, and what Allow gives it.
const (
	Admin = "admin"
	Guest = "guest"
)

// Options choose what a Cluster is started with. The zero value is ready.
type Options struct {
	// Users are names beside Admin and Guest that can log in, without any
	// rights.
	Users []string
	// APIServerFlags are added to the flags of kube-apiserver.
	APIServerFlags []string
	// Address is what the API server listens on, by default 127.0.0.1. Any
	// other is told to the pods of a node, too.
	Address string
	// Controlled is set where a controller manager will run. Only then is it
	// asked of pods that they have a ServiceAccount.
	Controlled bool
	// Dir holds logs, keys and data, and is kept. By default a temporary
	// folder is used, and removed by Stop.
	Dir string
}

// Cluster is a running control plane. Its methods may be used by several
// goroutines at once.
type Cluster struct {
	// URL is where the API server listens.
	URL string
	// ToolDir is the folder that kubectl is in.
	ToolDir string
	// Dir holds the logs, and the data until Stop.
	Dir string

	lock    *os.File // of a folder that Stop removes; nil of one that is kept
	users   []user
	cert    certificate
	spawner *spawner
	etcd    *process
	server  apiServer

	mu     sync.Mutex // protects what follows
	beside []*process
}

const (
	loopback     = "127.0.0.1"
	serviceRange = "10.96.0.0/16"
)

// serviceIP is the first of the range, at which pods find the API server.
var serviceIP = net.IPv4(10, 96, 0, 1)

// startTime bounds the wait for a part to get ready. It takes a few seconds
// where the machine has nothing else to do.
const startTime = 2 * time.Minute

// Start runs a control plane and returns when it is ready. The context bounds
// the start alone: the caller must Stop the cluster. Where the calling process
// dies before that, the kernel of Linux ends the parts.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	tools, err := Tools(ctx, "etcd", "kube-apiserver", "kubectl")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	// A free port may be taken by somebody else before we get to use it.
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
		// Nobody reads the data after a crash.
		"--unsafe-no-fsync",
	)
	if err != nil {
		return err
	}
	return c.etcd.await(ctx, answers(plainClient(), client+"/health", ""))
}

// Stop ends what runs beside the API server, then that, then etcd, and returns
// when all are gone and their ports are free. Further calls do nothing.
func (c *Cluster) Stop() error {
	err := c.stopBeside()
	// The other way round, the API server lingers for the connection it lost.
	err = errors.Join(err, c.StopServer(), c.etcd.stop())
	c.spawner.close()
	if c.lock != nil {
		err = errors.Join(err, os.RemoveAll(c.Dir))
		// The second time it is closed already, which does not matter.
		_ = c.lock.Close()
	}
	return err
}

func (c *Cluster) path(name string) string { return filepath.Join(c.Dir, name) }

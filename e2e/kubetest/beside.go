package kubetest

import (
	"context"
	"errors"
	"path/filepath"
)

// Program is one that runs beside the API server.
type Program struct {
	// Path is the program. Its name without the folder tells it apart, and
	// names its log in the cluster's folder.
	Path string
	Args []string
	// Ready tells whether the program can be used yet. It is asked again and
	// again until it says yes or the context ends. Nil says yes at once.
	Ready func(context.Context) bool
}

// Run starts a program in the cluster's folder and returns when it is ready. The
// context bounds the start alone. Stop ends the program, those that were started
// later first, and while the API server still runs; where the calling process
// dies before that, the kernel of Linux does.
func (c *Cluster) Run(ctx context.Context, program Program) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	name := filepath.Base(program.Path)
	p, err := c.spawner.start(program.Path, c.path(name+".log"), nil, program.Args...)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.beside = append(c.beside, p)
	c.mu.Unlock()
	if program.Ready == nil {
		return nil
	}
	return p.await(ctx, program.Ready)
}

func (c *Cluster) stopBeside() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for i := len(c.beside) - 1; i >= 0; i-- {
		errs = append(errs, c.beside[i].stop())
	}
	c.beside = nil
	return errors.Join(errs...)
}

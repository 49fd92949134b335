package kubetest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// spawner starts processes from one thread that lives until close. The kernel
// ties a child's life to the thread that made it, not to the process: made by
// any goroutine, it would die with the first thread that Go gives back.
type spawner struct {
	work  chan func()
	close func()
}

func newSpawner() *spawner {
	s := &spawner{work: make(chan func())}
	s.close = sync.OnceFunc(func() { close(s.work) })
	go func() {
		// Never unlocked: the thread ends with the goroutine.
		runtime.LockOSThread()
		for f := range s.work {
			f()
		}
	}()
	return s
}

// start runs a program that writes to the given log file. The ports are those
// it is told to listen on.
func (s *spawner) start(path, log string, ports []int, args ...string) (*process, error) {
	name := filepath.Base(path)
	file, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer file.Close()
	p := &process{name: name, log: log, ports: ports, cmd: command(path, file, args), done: make(chan struct{})}
	p.cmd.SysProcAttr = childAttributes()
	started := make(chan error)
	s.work <- func() { started <- p.cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.ended = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

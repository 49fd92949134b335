//go:build unix

// Command launch runs a program and prints what it took, as JSON:
//
//	launch COMMAND [ARG...]
//
// It is a program of its own, since the kernel counts to the peak memory of a
// process what its parent had when it was started, and this one has little.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// cost is what a program took.
type cost struct {
	Wall, CPU time.Duration
	Peak      int64 // bytes of memory
	Code      int   // with which it ended
}

func main() {
	c, err := run(os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "launch:", err)
		os.Exit(1)
	}
}

func run(args []string) (cost, error) {
	if len(args) == 0 {
		return cost{}, errors.New("no command is given")
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	began := time.Now()
	err := cmd.Run()
	wall := time.Since(began)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return cost{}, err
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return cost{}, errors.New("the system does not tell what a process took")
	}
	return cost{
		Wall: wall, CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		Peak: usage.Maxrss * unit(), Code: cmd.ProcessState.ExitCode(),
	}, nil
}

// unit is how many bytes the system counts peak memory in.
func unit() int64 {
	if runtime.GOOS == "darwin" {
		return 1
	}
	return 1024
}

//go:build unix

// Command launch runs a program and prints what it took, as JSON:
//
//	launch [-to FILE] COMMAND [ARG...]
//
// With a file for that, the standard input and output are the program's.
//
// It is a program of its own, since the kernel counts to the peak memory of a
// process what its parent had when it was started, and this one has little.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "launch:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 2 && args[0] == "-to" {
		c, err := launch(args[2:], os.Stdin, os.Stdout)
		if err != nil {
			return err
		}
		data, err := json.Marshal(c)
		if err != nil {
			return err
		}
		return os.WriteFile(args[1], data, 0o600)
	}
	c, err := launch(args, nil, nil)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(c)
}

func launch(args []string, in io.Reader, out io.Writer) (cost, error) {
	if len(args) == 0 {
		return cost{}, errors.New("no command is given")
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, os.Stderr
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

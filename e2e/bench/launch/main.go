//go:build unix

// Command launch runs a program and prints its cost as JSON:
//
//	launch [-to FILE] COMMAND [ARG...]
//
// With -to, it writes the cost to the file, and passes standard input and output to
// the program.
//
// It is a separate program because the peak memory of a process, as counted by the
// kernel, includes that of its parent at the start, and launch uses little.
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

// cost is the cost of a run of a program.
type cost struct {
	Wall, CPU time.Duration
	Peak      int64 // bytes of memory
	Code      int   // exit code
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
		return cost{}, errors.New("no command given")
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
		return cost{}, errors.New("the system does not report the resource usage of a process")
	}
	return cost{
		Wall: wall, CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		Peak: usage.Maxrss * unit(), Code: cmd.ProcessState.ExitCode(),
	}, nil
}

// unit is the unit of Maxrss in bytes.
func unit() int64 {
	if runtime.GOOS == "darwin" {
		return 1
	}
	return 1024
}

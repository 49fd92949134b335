//go:build !linux

package node

import "errors"

// Missing reports this first, so no test gets here.
var errLinux = errors.New("enter namespaces: needs Linux")

func enter() (int, error) { return 1, errLinux }

func runInit() int { return 1 }

//go:build unix && !linux

package kubetest

import "syscall"

// childAttributes keeps a child out of the terminal's process group: Ctrl-C must
// not end etcd before the API server. Only Linux can end a child with its parent.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

package kubetest

import "syscall"

// childAttributes make a child die with the thread that starts it, even where
// that is killed, and keep it out of the terminal's process group: Ctrl-C must
// not end etcd before the API server.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

package kubetest

import "syscall"

// childAttributes makes the kernel kill a child when the thread that started it
// ends, and keeps it out of the terminal's process group: Ctrl-C must not end etcd
// before the API server.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

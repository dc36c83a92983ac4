package rig

import "syscall"

// childAttributes gives the daemon its own process group, so that a Ctrl-C on the terminal
// does not reach it directly. The kernel kills it when this process dies.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

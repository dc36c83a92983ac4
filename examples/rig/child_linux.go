package rig

import "syscall"

// childAttributes gives the daemon its own process group, so that a Ctrl-C on
// the terminal reaches it through us and in order, and lets it die with us
// however we die.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

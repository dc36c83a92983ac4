//go:build !linux

package rig

import "syscall"

// childAttributes gives the daemon its own process group. This system has no death signal
// for children, so a SIGKILL of this program leaves the daemon running.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

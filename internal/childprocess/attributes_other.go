//go:build !linux

package childprocess

import "syscall"

// processAttributes sets no parent-death signal: only Linux has one.
func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

//go:build !linux

package childprocess

import "syscall"

// attributes sets no parent-death signal: only Linux has one.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

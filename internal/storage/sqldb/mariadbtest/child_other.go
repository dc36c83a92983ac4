//go:build !linux

package mariadbtest

import "syscall"

// child leaves the server's end to the keeper: only Linux kills it by itself.
func child() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

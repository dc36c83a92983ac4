package mariadbtest

import "syscall"

// child lets the system kill the server when the thread that started it ends.
// A group of its own keeps an interrupt from the terminal away from it.
func child() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

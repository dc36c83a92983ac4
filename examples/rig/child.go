package rig

import (
	"os/exec"
	"runtime"
)

// launch starts a child that dies with this process; ended receives its exit error. Linux
// kills such a child when the thread that started it ends, and Go ends threads too. So one
// goroutine keeps its thread until the child has ended.
func launch(cmd *exec.Cmd) (ended <-chan error, err error) {
	cmd.SysProcAttr = childAttributes()
	started, over := make(chan error), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := cmd.Start()
		started <- err
		if err == nil {
			over <- cmd.Wait()
		}
	}()
	return over, <-started
}

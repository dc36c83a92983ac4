package rig

import (
	"os/exec"
	"runtime"
)

// launch starts a child that dies with this process; ended gets how it ended.
// Linux ends such a child with the thread that started it, and Go ends threads
// too: so one goroutine keeps its thread until the child is gone.
func launch(cmd *exec.Cmd) (ended <-chan error, err error) {
	cmd.SysProcAttr = childAttributes()
	started, over := make(chan error), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		err := cmd.Start()
		started <- err
		if err == nil {
			over <- cmd.Wait()
		}
	}()
	return over, <-started
}

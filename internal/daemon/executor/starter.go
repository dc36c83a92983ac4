package executor

import (
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// starter starts processes from one operating system thread that lives as long as the pool.
// The kernel sends a child its parent-death signal when the forking thread ends, and Go may
// end a thread at any time. Children inherit the nice value of the thread.
type starter struct {
	orders chan order
	done   chan struct{}
}

type order struct {
	cmd     *exec.Cmd
	started chan<- error
}

// newStarter returns a starter of children with a nice value of 0 to 19.
func newStarter(nice int) *starter {
	s := &starter{orders: make(chan order), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		runtime.LockOSThread() // never unlocked: other goroutines must not get its nice value
		if nice > 0 {
			_ = unix.Setpriority(unix.PRIO_PROCESS, 0, nice) // of this thread; raising it is always allowed
		}
		for o := range s.orders {
			o.started <- o.cmd.Start()
		}
	}()
	return s
}

func (s *starter) start(cmd *exec.Cmd) error {
	started := make(chan error, 1)
	s.orders <- order{cmd, started}
	return <-started
}

// stop ends the thread. All children must have exited, and start must not be called again.
func (s *starter) stop() {
	close(s.orders)
	<-s.done
}

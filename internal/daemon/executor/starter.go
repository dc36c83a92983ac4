package executor

import (
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// starter starts processes from one operating system thread that lives as
// long as the pool does. The kernel sends a child its parent-death signal when
// the thread that forked it ends, not the process; Go ends threads when it
// likes, so a start from any goroutine would kill children at random. Children
// inherit the nice value of the thread.
type starter struct {
	orders chan order
	done   chan struct{}
}

type order struct {
	cmd     *exec.Cmd
	started chan<- error
}

// newStarter makes a starter of children with a nice value, 0 to 19.
func newStarter(nice int) *starter {
	s := &starter{orders: make(chan order), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		runtime.LockOSThread() // for good: a thread of another nice value is of no use to others
		if nice > 0 {
			_ = unix.Setpriority(unix.PRIO_PROCESS, 0, nice) // of this thread; nobody is refused to be nicer
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

// stop ends the thread. Every child must be gone, no start may follow.
func (s *starter) stop() {
	close(s.orders)
	<-s.done
}

package env

import (
	"os/exec"
	"runtime"
)

// starter starts processes from one operating system thread that lives as
// long as the pool does. The kernel sends a child its parent-death signal when
// the thread that forked it ends, not the process; Go ends threads when it
// likes, so a start from any goroutine would kill children at random.
type starter struct {
	orders chan order
	done   chan struct{}
}

type order struct {
	cmd     *exec.Cmd
	started chan<- error
}

func newStarter() *starter {
	s := &starter{orders: make(chan order), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
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

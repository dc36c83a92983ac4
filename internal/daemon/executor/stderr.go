package executor

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// stderrTail is how many of the last bytes of standard error are kept for one request.
const stderrTail = 64 << 10

// drain reads a pipe continuously, so that its writer never blocks, and keeps the tail. Two
// goroutines read: the drain's own, and tail, which needs everything written so far.
type drain struct {
	file *os.File
	raw  syscall.RawConn
	end  chan struct{} // closed at the end of the pipe

	mu  sync.Mutex
	buf []byte // at most twice stderrTail
	tmp [4 << 10]byte
}

func newDrain(file *os.File) (*drain, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	d := &drain{file: file, raw: raw, end: make(chan struct{})}
	go func() {
		defer close(d.end)
		for ended := false; !ended; {
			err := raw.Read(func(fd uintptr) bool {
				var empty bool
				empty, ended = d.readAvailable(int(fd))
				return !empty
			})
			ended = ended || err != nil
		}
	}()
	return d, nil
}

// readAvailable reads once without waiting. empty: nothing to read now. ended: the pipe is closed.
func (d *drain) readAvailable(fd int) (empty, ended bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := unix.Read(fd, d.tmp[:])
	for err == unix.EINTR {
		n, err = unix.Read(fd, d.tmp[:])
	}
	if err == unix.EAGAIN {
		return true, false
	}
	if err != nil || n == 0 {
		return false, true
	}
	d.buf = append(d.buf, d.tmp[:n]...)
	if len(d.buf) > 2*stderrTail {
		d.buf = d.buf[:copy(d.buf, d.buf[len(d.buf)-stderrTail:])]
	}
	return false, false
}

// copyTail returns a copy of the last bytes written since reset, nil for none. It includes all
// bytes that the process wrote before the call.
func (d *drain) copyTail() []byte {
	// A pipe holds 64 KiB. Later bytes were written after the call; without this limit a
	// busy writer would keep the reader here.
	d.raw.Control(func(fd uintptr) {
		for range (64<<10)/len(d.tmp) + 1 {
			if empty, ended := d.readAvailable(int(fd)); empty || ended {
				break
			}
		}
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]byte(nil), d.buf[max(0, len(d.buf)-stderrTail):]...)
}

// reset discards what was written so far.
func (d *drain) reset() {
	d.mu.Lock()
	d.buf = d.buf[:0]
	d.mu.Unlock()
}

package executor

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// stderrTail is how much of what a process writes to its standard error is
// kept for one request: the end of it, in bytes.
const stderrTail = 64 << 10

// drain reads a pipe as soon as something is in it, so that its writer never
// blocks, and keeps the tail. Two goroutines read: the drain's own, and the
// one that has an answer in hand and wants all that was written before it.
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
				empty, ended = d.take(int(fd))
				return !empty
			})
			ended = ended || err != nil
		}
	}()
	return d, nil
}

// take reads once, without waiting, and tells whether there was nothing to
// read, or never will be.
func (d *drain) take(fd int) (empty, ended bool) {
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

// tail returns a copy of the end of what was written since reset, nil for
// nothing. All that the process wrote before tail was called is in it.
func (d *drain) tail() []byte {
	// A pipe holds 64 KiB: what comes after that many bytes was written later,
	// and a writer who never stops must not keep the reader here.
	d.raw.Control(func(fd uintptr) {
		for range (64<<10)/len(d.tmp) + 1 {
			if empty, ended := d.take(int(fd)); empty || ended {
				break
			}
		}
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]byte(nil), d.buf[max(0, len(d.buf)-stderrTail):]...)
}

// reset forgets what was written so far.
func (d *drain) reset() {
	d.mu.Lock()
	d.buf = d.buf[:0]
	d.mu.Unlock()
}

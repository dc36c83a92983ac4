package hostgate

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// setOpenFileLock is the fcntl command F_OFD_SETLK of Linux, which package syscall does not
// define. It locks a range of bytes for the open file, not for the process. The lock ends
// when the file is closed.
const setOpenFileLock = 37

type mode int16

const (
	exclusive mode = syscall.F_WRLCK
	shared    mode = syscall.F_RDLCK
	released  mode = syscall.F_UNLCK
)

// tryLock sets the lock of one byte of f to m. It returns false if another open file holds
// a conflicting lock. A shared lock becomes exclusive in one step, and stays shared if that
// fails.
func tryLock(f *os.File, at int64, m mode) (bool, error) {
	l := syscall.Flock_t{Type: int16(m), Whence: io.SeekStart, Start: at, Len: 1}
	for {
		err := syscall.FcntlFlock(f.Fd(), setOpenFileLock, &l)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EACCES):
			return false, nil
		case errors.Is(err, syscall.EINTR):
		default:
			return false, err
		}
	}
}

// unlockByte drops the lock of one byte of f. That cannot fail on an open file.
func unlockByte(f *os.File, at int64) {
	_, _ = tryLock(f, at, released)
}

// isUnlinked reports whether the file of f was removed.
func isUnlinked(f *os.File) (bool, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
		return false, &os.PathError{Op: "fstat", Path: f.Name(), Err: err}
	}
	return st.Nlink == 0, nil
}

package segments

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData makes the bytes of a file durable.
func syncData(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var syncErr error
	err = conn.Control(func(fd uintptr) {
		for syncErr = unix.EINTR; syncErr == unix.EINTR; {
			syncErr = unix.Fdatasync(int(fd))
		}
	})
	if err != nil {
		return err
	}
	return os.NewSyscallError("fdatasync", syncErr)
}

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

// free returns the free bytes of a folder's file system.
func free(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, os.NewSyscallError("statfs", err)
	}
	return int64(st.Bavail) * st.Bsize, nil
}

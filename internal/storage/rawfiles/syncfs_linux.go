package rawfiles

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncFS syncs the file system of disk. It returns false if the system does not support that.
// Since Linux 5.8 it also reports write errors since disk was opened.
func syncFS(disk *os.File) (done bool, err error) {
	conn, err := disk.SyscallConn()
	if err != nil {
		return true, err
	}
	var syncErr error
	if err := conn.Control(func(fd uintptr) { syncErr = unix.Syncfs(int(fd)) }); err != nil {
		return true, err
	}
	if errors.Is(syncErr, unix.ENOSYS) || errors.Is(syncErr, unix.EOPNOTSUPP) || errors.Is(syncErr, unix.EPERM) {
		return false, nil
	}
	return true, os.NewSyscallError("syncfs", syncErr)
}

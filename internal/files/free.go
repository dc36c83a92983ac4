package files

import (
	"os"
	"syscall"
)

// Free returns how many bytes an unprivileged program can write to the file system of a folder.
func Free(folder string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(folder, &st); err != nil {
		return 0, os.NewSyscallError("statfs", err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

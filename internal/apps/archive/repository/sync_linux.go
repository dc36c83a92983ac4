package repository

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncAll makes everything that was written to the file system of a folder durable.
func syncAll(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(os.NewSyscallError("syncfs", unix.Syncfs(int(f.Fd()))), f.Close())
}

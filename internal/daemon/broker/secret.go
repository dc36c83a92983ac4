package broker

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// readSecret reads a file that only its owner may access (mode 0600 or 0400).
func readSecret(path string) ([]byte, error) {
	raw, mode, err := readRegular(path)
	if err == nil && mode.Perm()&0o077 != 0 {
		return nil, fmt.Errorf("others than the owner may access %s (mode %04o): run chmod 600, and create a new key if another user may have read it", path, mode.Perm())
	}
	return raw, err
}

// readBounded reads a file that only its owner may change.
func readBounded(path string) ([]byte, error) {
	raw, mode, err := readRegular(path)
	if err == nil && mode.Perm()&0o022 != 0 {
		return nil, fmt.Errorf("others than the owner may change %s (mode %04o): run chmod 600", path, mode.Perm())
	}
	return raw, err
}

// readRegular reads a regular file of at most maxKeyFile bytes. It does not block on a pipe.
func readRegular(path string) ([]byte, os.FileMode, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		return nil, 0, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err == nil && len(raw) > maxKeyFile {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxKeyFile)
	}
	return raw, info.Mode(), err
}

func stampOf(path string) fileStamp {
	info, err := os.Stat(path)
	if err != nil {
		return fileStamp{}
	}
	stamp := fileStamp{modified: info.ModTime(), size: info.Size()}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		stamp.inode = s.Ino
	}
	return stamp
}

// ReadSeed reads the secret of a connection. Only its owner may be able to read the file.
func ReadSeed(path string) (string, error) {
	raw, err := readSecret(path)
	return string(raw), err
}

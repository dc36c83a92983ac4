package curvekeys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// writeBoth writes the secret file and then the public one.
func writeBoth(folder string, files Files, secret, public string, force bool) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if !force {
		for _, path := range []string{files.Secret, files.Public} {
			if _, err := os.Lstat(path); err == nil {
				return fmt.Errorf("%s: %w", path, fs.ErrExist)
			}
		}
	}
	if err := write(folder, files.Secret, secret, 0o600, force); err != nil {
		return err
	}
	if err := write(folder, files.Public, public, 0o644, force); err != nil {
		if !force { // ours, and of no use alone
			_ = os.Remove(files.Secret)
		}
		return err
	}
	return syncFolder(folder)
}

// write puts a whole file in its place, or leaves what stands there.
func write(folder, path, text string, mode os.FileMode, force bool) (err error) {
	// CreateTemp makes it for the owner alone, whatever the umask is.
	f, err := os.CreateTemp(folder, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // after a rename there is nothing under that name
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if force {
		return os.Rename(f.Name(), path)
	}
	// A rename would replace what another has put there meanwhile; a link does not.
	return os.Link(f.Name(), path)
}

func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

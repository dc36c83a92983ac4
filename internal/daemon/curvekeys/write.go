package curvekeys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hce/dc/internal/files"
)

// writeBoth writes the secret file and then the public one.
func writeBoth(folder string, pair Files, secret, public string, force bool) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if !force {
		for _, path := range []string{pair.Secret, pair.Public} {
			if _, err := os.Lstat(path); err == nil {
				return fmt.Errorf("%s: %w", path, fs.ErrExist)
			}
		}
	}
	if err := createFile(folder, pair.Secret, secret, 0o600, force); err != nil {
		return err
	}
	if err := createFile(folder, pair.Public, public, 0o644, force); err != nil {
		if !force { // created above, and useless alone
			_ = os.Remove(pair.Secret)
		}
		return err
	}
	return files.SyncFolder(folder)
}

// createFile creates a file atomically with exactly that mode, or replaces it if force is true.
func createFile(folder, path, text string, mode os.FileMode, force bool) (err error) {
	// CreateTemp uses mode 0600 whatever the umask is.
	f, err := os.CreateTemp(folder, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // has no effect after a rename
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
	// Unlike a rename, a link fails if the file exists.
	return os.Link(f.Name(), path)
}

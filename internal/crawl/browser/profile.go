package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hce/dc/internal/files"
)

const (
	// profilePrefix begins the names of the folders of browsers.
	profilePrefix = "dc-browser-"
	lockName      = "lock"
	// unlockedAge is the age at which a folder without a lock file counts as orphaned.
	unlockedAge = time.Hour
	// maxPath is the longest path of a profile: Chromium adds 45 bytes for the socket below
	// it, org.chromium.Chromium.<6 letters>/SingletonSocket, and a socket's path has 107.
	maxPath = 107 - 45
)

// profile is the private folder of one Chromium: its profile, home and temporary files.
// Its lock file is locked while the process lives, so that others can recognise the
// folder of a killed process.
type profile struct {
	path   string
	unlock func()
}

// newProfile creates a folder in parent. It also removes orphaned folders there.
func newProfile(parent string) (*profile, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	parent, err := filepath.Abs(parent)
	if err != nil {
		return nil, err
	}
	sweepProfiles(parent)
	path, err := os.MkdirTemp(parent, profilePrefix)
	if err != nil {
		return nil, err
	}
	if len(path) > maxPath {
		os.RemoveAll(path)
		return nil, fmt.Errorf("the folder %s has more than %d bytes, too many for Chromium: set TMPDIR to a shorter folder", path, maxPath)
	}
	if err := writePreferences(path); err != nil {
		os.RemoveAll(path)
		return nil, err
	}
	unlock, err := files.TryLock(filepath.Join(path, lockName))
	if err != nil {
		os.RemoveAll(path)
		return nil, err
	}
	return &profile{path, unlock}, nil
}

// preferences turn off what Chromium asks for by itself, past the requests that a page shows to us: pages that it expects
// to be opened next (rel=prerender, speculation rules, also of the header Speculation-Rules), names and connections.
const preferences = `{"net":{"network_prediction_options":2},"dns_prefetching":{"enabled":false},"alternate_error_pages":{"enabled":false},"search":{"suggest_enabled":false}}`

// writePreferences writes the preferences of the profile that Chromium uses.
func writePreferences(folder string) error {
	path := filepath.Join(folder, "Default")
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(path, "Preferences"), []byte(preferences), 0o600)
}

// removeFolder removes the folder. It retries, since dying processes may still write there.
func (p *profile) removeFolder() error {
	defer p.unlock()
	var err error
	for range 100 {
		if err = os.RemoveAll(p.path); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// sweepProfiles removes orphaned folders below parent. It skips those of other users.
func sweepProfiles(parent string) {
	found, err := filepath.Glob(filepath.Join(parent, profilePrefix+"*"))
	if err != nil {
		return
	}
	for _, path := range found {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() {
			continue
		}
		if _, err := os.Lstat(filepath.Join(path, lockName)); err != nil {
			if os.IsNotExist(err) && time.Since(info.ModTime()) > unlockedAge {
				os.RemoveAll(path) // the owner was killed before it locked the folder
			}
			continue
		}
		if unlock, err := files.TryLock(filepath.Join(path, lockName)); err == nil {
			os.RemoveAll(path)
			unlock()
		}
	}
}

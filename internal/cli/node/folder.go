package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"hce/dc/ini"
	"hce/dc/internal/files"
)

// Node is a folder with bin, ini and data.
type Node struct {
	Dir string // absolute
	bin string // folder of the programs, absolute
}

// programs are what a node starts.
var programs = []string{"dc-daemon", "db-task", "crawler-task", "processor-task"}

// Programs returns the folder of the programs: that of the running program, or the one that PATH
// leads to.
func Programs() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the programs: %w", err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return "", fmt.Errorf("find the programs: %w", err)
	}
	tried := append([]string{filepath.Dir(self)}, filepath.SplitList(os.Getenv("PATH"))...)
	nearest, lacks := tried[0], missingPrograms(tried[0])
	for _, dir := range tried {
		found := missingPrograms(dir)
		if len(found) == 0 {
			return filepath.Abs(dir)
		}
		if len(found) < len(lacks) {
			nearest, lacks = dir, found
		}
	}
	return "", fmt.Errorf("%s: no such program in %s, and no folder of PATH has all programs that hce needs; build them with make build, or install the package",
		strings.Join(lacks, ", "), nearest)
}

// missingPrograms returns the programs that a folder does not have.
func missingPrograms(dir string) (names []string) {
	for _, name := range programs {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			names = append(names, name)
		}
	}
	return names
}

// DefaultDir returns the folder of hce in the user's data directory (XDG_DATA_HOME).
func DefaultDir(getenv func(string) string) (string, error) {
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "hce"), nil
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "share", "hce"), nil
	}
	return "", errors.New("neither XDG_DATA_HOME nor HOME is set; give a folder with --data")
}

// browsers are the names of Chromium.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}

// Browser returns the path of Chromium on this machine, "" without one.
func Browser() string {
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Exists reports whether dir is the folder of a node with stored data.
func Exists(dir string) bool {
	for _, name := range []string{"dc.db", "dc_rdata", "dc_dbdata"} { // the last two with MySQL
		if _, err := os.Stat(filepath.Join(dir, "data", name)); err == nil {
			return true
		}
	}
	return false
}

// Open creates what is missing of the folder. It changes no ini file that exists. With programs "" it links no programs:
// the node starts none.
func Open(dir, programs string) (*Node, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open data folder: %w", err)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(dir, "ini", "dc-daemon.ini")); err != nil {
			return nil, fmt.Errorf("open data folder %s: it has other files; give an empty or a new folder", dir)
		}
	}
	n := &Node{Dir: dir, bin: programs}
	for _, folder := range []string{n.iniFolder(), filepath.Join(n.dataFolder(), "log")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, fmt.Errorf("open data folder: %w", err)
		}
	}
	if err := n.writeIni(); err != nil {
		return nil, fmt.Errorf("open data folder %s: %w", dir, err)
	}
	if programs == "" {
		return n, nil
	}
	return n, n.linkPrograms()
}

// writeIni writes the ini files that are missing. dc-daemon.ini comes last: it marks a whole folder.
func (n *Node) writeIni() error {
	const last = "dc-daemon.ini"
	entries, err := ini.Files.ReadDir(".")
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if e.Name() != last {
			names = append(names, e.Name())
		}
	}
	for _, name := range append(names, last) {
		path := filepath.Join(n.iniFolder(), name)
		if _, err := os.Stat(path); err == nil {
			continue
		}
		text, err := ini.Files.ReadFile(name)
		if err != nil {
			return err
		}
		if err := files.Write(path, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// linkPrograms lets bin lead to the programs.
func (n *Node) linkPrograms() error {
	link := filepath.Join(n.Dir, "bin")
	if to, err := os.Readlink(link); err == nil && to == n.bin {
		return nil
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("link the programs: %w", err)
	}
	if err := os.Symlink(n.bin, link); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("link the programs: %w", err)
	}
	return nil
}

func (n *Node) iniFolder() string  { return filepath.Join(n.Dir, "ini") }
func (n *Node) dataFolder() string { return filepath.Join(n.Dir, "data") }

// LogDir is the folder of all logs.
func (n *Node) LogDir() string { return filepath.Join(n.dataFolder(), "log") }

// programPath returns the path of a program.
func (n *Node) programPath(name string) string { return filepath.Join(n.bin, name) }

// GatesDir returns the folder of the host gates for programs that send requests without a daemon: that of the crawler of hce,
// if hce has crawled, else one that they share. It makes the folder.
func GatesDir(getenv func(string) string) (string, error) {
	dir, err := DefaultDir(getenv)
	if err != nil {
		return "", err
	}
	if Exists(dir) {
		return filepath.Join(dir, "data", "dc_hosts"), nil
	}
	shared := filepath.Join(filepath.Dir(dir), "ose", "hosts")
	return shared, os.MkdirAll(shared, 0o700)
}

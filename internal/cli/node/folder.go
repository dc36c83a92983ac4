package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"hce/dc/internal/cli/datafolder"
)

// Node is a data folder with bin.
type Node struct {
	*datafolder.Folder
	bin string // folder of the programs, absolute; "": it starts none
}

// Open creates what is missing of the folder, and links the programs, if there are some. It changes no ini file that exists.
func Open(dir, programs string) (*Node, error) {
	folder, err := datafolder.Open(dir)
	if err != nil {
		return nil, err
	}
	n := &Node{Folder: folder, bin: programs}
	return n, n.linkPrograms()
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

// linkPrograms lets bin lead to the programs.
func (n *Node) linkPrograms() error {
	if n.bin == "" {
		return nil
	}
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

// programPath returns the path of a program.
func (n *Node) programPath(name string) string { return filepath.Join(n.bin, name) }

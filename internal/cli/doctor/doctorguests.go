package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hce/dc/internal/cli/node"
	"hce/dc/internal/cli/subcommand"
)

// guests are the other programs with data of their own: a file that only their folder has, and the command that reads the
// folder whole, changes nothing, and prints each fault in a line.
var guests = []struct {
	name, mark string
	check      []string // FOLDER is the folder
	remedy     string
}{
	{"ose", ".osestatus", []string{"ose", "check", "FOLDER"}, "restore the file from a backup, or begin the target again: mv FOLDER FOLDER.old && ose init"},
	{"ose", ".urls", []string{"ose", "check", "FOLDER"}, "restore the file from a backup, or begin the target again: mv FOLDER FOLDER.old && ose init"},
	{"search index", "index.json", []string{"hce-search", "check", "--dir", "FOLDER"}, "hce-search index --once --dir FOLDERPLACE"},
	{"search index", "snapshots", []string{"hce-search", "check", "--dir", "FOLDER"}, "mv FOLDER FOLDER.old && hce-search index --once --dir FOLDERPLACE"},
	{"archive", "content", []string{"archive", "db", "check", "--root", "FOLDER"}, "archive repair --root FOLDER"},
}

// checkGuestFolder checks a folder of another program.
func (d *doctor) checkGuestFolder(path string) {
	dir, err := filepath.Abs(path)
	if err == nil {
		_, err = os.ReadDir(dir)
	}
	if err != nil {
		d.addFinding("folder", fault, err.Error(), d.accessRemedy(path, err))
		return
	}
	for _, g := range guests {
		if _, err := os.Lstat(filepath.Join(dir, g.mark)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		args := make([]string, len(g.check))
		for i, arg := range g.check {
			args[i] = strings.ReplaceAll(arg, "FOLDER", dir)
		}
		lines, err := node.Lines(d.Ctx, args[0], args[1:]...)
		remedy := strings.NewReplacer("FOLDER.old", subcommand.ShellWord(dir+".old"), "FOLDER", subcommand.ShellWord(dir), "PLACE", strings.Replace(d.placeOptions(), "--config", "--client-config", 1)).Replace(g.remedy)
		if err == nil {
			d.addFinding(g.name, fine, dir, "")
			return
		}
		if len(lines) == 0 {
			lines = []string{err.Error()}
		}
		for _, line := range lines[:min(len(lines), mostFaults)] {
			d.addFinding(g.name, fault, withPath(dir, errors.New(strings.TrimPrefix(line, args[0]+": "))), remedy)
		}
		if len(lines) > mostFaults {
			d.addFinding(g.name, fault, fmt.Sprintf("%s: %d further faults", dir, len(lines)-mostFaults), remedy)
		}
		return
	}
	d.addFinding("folder", fault, dir+" is no target of ose, no search index and no archive", "give the data folder of hce with --data DIR")
}

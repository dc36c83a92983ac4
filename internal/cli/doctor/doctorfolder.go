package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hce/dc/hostgate"
	"hce/dc/internal/childprocess"
	"hce/dc/internal/cli/datafolder"
	"hce/dc/internal/cli/node"
	"hce/dc/internal/cli/subcommand"
	"hce/dc/internal/config"
	"hce/dc/internal/daemon/curvekeys"
	"hce/dc/internal/files"
)

// checkFolder checks the data folder of hce. programs is "" if they are not complete: then it checks what needs none.
func (d *doctor) checkFolder(at subcommand.Place, programs string) {
	if at.Tried != "" {
		d.addFinding("daemon", fine, "none at "+at.Tried+"; hce crawls without one", "")
	}
	if err := config.Writable(at.Dir); err != nil {
		d.addFinding("data folder", fault, err.Error(), d.ownCommand(at.Dir)+", or give another folder with --data")
		return
	}
	dir, err := filepath.Abs(at.Dir)
	if err != nil {
		d.addFinding("data folder", fault, err.Error(), "give another folder with --data")
		return
	}
	var n *node.Node
	if programs != "" {
		n, err = node.Open(dir, programs)
	}
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		d.addFinding("data folder", fault, err.Error(), d.accessRemedy(dir, err))
	case err != nil:
		d.addFinding("data folder", fault, err.Error(), "give an empty or a new folder with --data")
		return
	default:
		d.addFinding("data folder", fine, dir, "")
	}
	d.checkDisk(dir)
	whole := d.checkFiles(dir)
	d.checkKeys(filepath.Join(dir, "data", curvekeys.OperatorsFolder))
	d.checkLocks(dir)
	if n == nil || err != nil {
		return
	}
	d.checkConfiguration(n)
	d.checkBroker(filepath.Join(dir, "ini", "dc-daemon.ini"))
	d.checkPorts()
	if !datafolder.Exists(dir) {
		d.addFinding("database", fine, "it is created with the first crawl", "")
		return
	}
	if err := d.OpenFolder(dir); err != nil {
		d.addFinding("database", fault, err.Error(), databaseRemedy(err.Error(), dir))
		return
	}
	if d.checkAnswers("database", "it answers", func(err error) string { return databaseRemedy(err.Error(), dir) }) {
		if whole { // a file that cannot be read has been named, and ends the check
			d.checkStores(n)
		}
		d.checkSites(n)
	}
}

// ownCommand is the command that gives a folder to this user.
func (d *doctor) ownCommand(dir string) string {
	name := strconv.Itoa(os.Geteuid())
	if me, err := user.Current(); err == nil {
		name = me.Username
	}
	return "sudo chown -R " + name + " " + subcommand.ShellWord(dir)
}

// remedies of errors of the database, by a part of their text.
var databaseRemedies = []struct{ part, remedy string }{
	{"old contents is lost", "restore data/dc.db in %[1]s from a backup; to begin again without the old pages: mv %[1]s %[1]s.old"},
	{"newer schema", "install the programs that wrote it, or newer ones"},
	{"being moved or imported", "wait until db-task or dc-import has ended"},
	{"Access denied", "set db_user of [TasksManager] in %[1]s/ini/db-task.ini, and the password in DC_TasksManager_db_pwd"},
	{"check db_user", "set db_user of [TasksManager] in %[1]s/ini/db-task.ini, and the password in DC_TasksManager_db_pwd"},
	{"connection refused", "start MariaDB, or correct db_host, db_port and db_socket in %[1]s/ini/db-task.ini"},
	{"db_socket", "start MariaDB, or correct db_host, db_port and db_socket in %[1]s/ini/db-task.ini"},
	{"dial ", "start MariaDB, or correct db_host, db_port and db_socket in %[1]s/ini/db-task.ini"},
	{"permission denied", "sudo chown -R $(id -un) %[1]s"},
	{"no space left", "free some room, or move the folder with --data"},
	{"ini", "edit %[1]s/ini/db-task.ini"},
}

// databaseRemedy says what to do about an error of the database of a folder.
func databaseRemedy(text, dir string) string {
	for _, r := range databaseRemedies {
		if strings.Contains(text, r.part) {
			return strings.ReplaceAll(r.remedy, "%[1]s", subcommand.ShellWord(dir))
		}
	}
	return "restore " + filepath.Join(dir, "data", "dc.db") + " from a backup (docs/operations.md, Restore); see " + filepath.Join(dir, "data", "log", "db-task.log")
}

const (
	checkLimit = time.Minute // of the check of the stores, which reads everything
	mostFaults = 10          // of a kind that are printed
)

// checkStores reads all stored contents.
func (d *doctor) checkStores(n *node.Node) {
	ctx, cancel := context.WithTimeout(d.Ctx, checkLimit)
	defer cancel()
	var talk bytes.Buffer
	_, err := n.DBTask(ctx, &talk, "--check")
	lines := strings.FieldsFunc(talk.String(), func(r rune) bool { return r == '\n' })
	if err != nil && len(lines) > 1 && strings.HasPrefix(lines[len(lines)-1], "db-task: ") && strings.Contains(lines[len(lines)-1], "faults of the stores") {
		lines = lines[:len(lines)-1] // their number
	}
	switch {
	case err == nil:
		d.addFinding("stores", fine, "all contents are whole", "")
	case ctx.Err() != nil:
		d.addFinding("stores", warning, fmt.Sprintf("not all contents could be read in %s", checkLimit), "stop nothing; run bin/db-task -c ini/db-task.ini --check in "+n.Dir)
	case len(lines) == 0:
		d.addFinding("stores", fault, err.Error(), "see "+filepath.Join(n.LogDir(), "db-task.log"))
	default:
		for _, line := range lines[:min(len(lines), mostFaults)] {
			text, remedy := storesRemedy(line, n.Dir)
			d.addFinding("stores", fault, text, remedy)
		}
		if len(lines) > mostFaults {
			d.addFinding("stores", fault, fmt.Sprintf("%d further faults", len(lines)-mostFaults), "hce repair"+d.placeOptions())
		}
	}
}

// storesRemedy splits a line of db-task --check into the fault and what to do about it in the folder of a node.
func storesRemedy(line, dir string) (fault, remedy string) {
	fault = line
	for _, advice := range []string{"; restore it from a backup", "; db-task --repair"} { // the remedy says it
		fault, _, _ = strings.Cut(fault, advice)
	}
	check := "bin/db-task -c ini/db-task.ini --check --fix"
	switch {
	case strings.HasPrefix(line, "db-task: "):
		fault = strings.TrimPrefix(line, "db-task: ")
		return fault, databaseRemedy(fault, dir)
	case strings.HasPrefix(line, "file "), strings.HasPrefix(line, "the database has no sites"):
		return fault, "restore data/dc.db in " + dir + " from a newer backup, or move the file away"
	case strings.HasPrefix(line, "database "):
		return fault, databaseRemedy(fault, dir)
	case strings.Contains(line, " live bytes "):
		return fault, "cd " + subcommand.ShellWord(dir) + " && " + check
	}
	return fault, "hce repair --data " + subcommand.ShellWord(dir)
}

// mostFiles bounds how many files of a data folder are looked at, apart from raw contents.
const mostFiles = 100_000

// checkFiles looks at each file of a data folder: this user must be able to change it, and small files of state must
// be whole. It reports whether all can be read.
func (d *doctor) checkFiles(dir string) (readable bool) {
	readable = true
	denied, n, found := 0, 0, len(d.found)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		n++
		switch {
		case n > mostFiles:
			return fs.SkipAll
		case err != nil && errors.Is(err, fs.ErrNotExist), e != nil && e.Type()&fs.ModeSymlink != 0:
			return nil // removed meanwhile; bin
		case err == nil:
			err = accessDenial(path, e.IsDir())
		}
		if err != nil {
			readable = false
			if denied++; denied <= mostFaults {
				d.addFinding("files", fault, deniedText(path, err), d.accessRemedy(dir, err))
			}
			if e != nil && e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		d.stateFile(path, e)
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.addFinding("files", fault, err.Error(), d.ownCommand(dir))
	}
	if denied > mostFaults {
		d.addFinding("files", fault, fmt.Sprintf("%d further files", denied-mostFaults), d.ownCommand(dir))
	}
	if len(d.found) == found {
		d.addFinding("files", fine, "this user can change all files", "")
	}
	return readable
}

// accessDenial returns why this process cannot use a file or folder, nil if it can.
func accessDenial(path string, folder bool) error {
	mode := uint32(unix.R_OK)
	if folder {
		mode |= unix.X_OK | unix.W_OK
	}
	if !folder && filepath.Ext(path) != ".ini" {
		mode |= unix.W_OK
	}
	return unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS)
}

func deniedText(path string, err error) string {
	text := fmt.Sprintf("%s: %v", path, systemCause(err))
	if info, e := os.Lstat(path); e == nil {
		if owner, ok := info.Sys().(*syscall.Stat_t); ok {
			name := strconv.Itoa(int(owner.Uid))
			if u, e := user.LookupId(name); e == nil {
				name = u.Username
			}
			text += fmt.Sprintf(" (owner %s, mode %04o)", name, info.Mode().Perm())
		}
	}
	return text
}

// systemCause is the error of the system without the path.
func systemCause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// accessRemedy says how this user gets access to a folder after an error.
func (d *doctor) accessRemedy(dir string, err error) string {
	if errors.Is(err, syscall.EROFS) {
		return "mount the file system writable, or give another folder with --data"
	}
	return d.ownCommand(dir) + " && chmod -R u+rwX " + subcommand.ShellWord(dir)
}

// stateFile checks a small file that programs keep between two runs.
func (d *doctor) stateFile(path string, e fs.DirEntry) {
	var err error
	again := "its state begins again"
	switch {
	case !e.Type().IsRegular():
		return
	case strings.HasSuffix(path, ".gate"):
		again = "the next request to its host waits a whole delay"
		err = hostgate.CheckFile(path)
	case strings.HasSuffix(path, ".json") && !strings.Contains(path, string(filepath.Separator)+"log"+string(filepath.Separator)):
		err = checkJSON(path)
		if filepath.Base(filepath.Dir(filepath.Dir(path))) == "env" {
			again, path = "its URLs are handed back at the next crawl", filepath.Dir(path)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.addFinding("state", fault, fmt.Sprintf("%s is damaged: %v", path, err), "rm -r "+subcommand.ShellWord(path)+" # "+again)
	}
}

// mostState bounds the files of state that are read.
const mostState = 16 << 20

func checkJSON(path string) error {
	if info, err := os.Stat(path); err != nil || info.Size() > mostState {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var any json.RawMessage
	return json.Unmarshal(text, &any)
}

// checkKeys checks the keys, which the daemon creates at its first start. Missing ones are created again.
func (d *doctor) checkKeys(dir string) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.addFinding("keys", fine, "a dc-daemon makes them at its first start", "")
		return
	case err != nil:
		d.addFinding("keys", fault, err.Error(), d.ownCommand(dir))
		return
	case info.Mode().Perm()&0o077 != 0:
		d.addFinding("keys", fault, fmt.Sprintf("other users can read %s (mode %04o)", dir, info.Mode().Perm()), "chmod -R go= "+subcommand.ShellWord(dir))
		return
	}
	operators := filepath.Join(dir, "operators")
	good := true
	for _, path := range []string{filepath.Join(dir, "daemon.key"), filepath.Join(operators, "admin.key")} {
		if _, err := curvekeys.ReadSecret(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			good = false
			d.addFinding("keys", fault, withPath(path, err), "mv "+subcommand.ShellWord(path)+" "+subcommand.ShellWord(path+".old")+" # the next start makes a new one; operators of other machines then need the new .pub file")
		}
	}
	if _, err := curvekeys.OpenList(operators); err != nil && !errors.Is(err, fs.ErrNotExist) {
		good = false
		d.addFinding("keys", fault, withPath(operators, err), "copy the public keys of the operators to "+operators+" again")
	}
	if good {
		d.addFinding("keys", fine, dir, "")
	}
}

// withPath is the message of an error with the path, once.
func withPath(path string, err error) string {
	if strings.Contains(err.Error(), path) {
		return err.Error()
	}
	return path + ": " + err.Error()
}

// checkLocks names the processes that keep others from the folder. A lock file without a process means nothing.
func (d *doctor) checkLocks(dir string) {
	last := 0 // hce crawl has the lock of a daemon too
	for _, l := range []struct{ path, work string }{
		{filepath.Join(dir, "crawl.lock"), "hce crawl"},
		{filepath.Join(dir, "data", "dc-daemon.lock"), "dc-daemon"},
		{filepath.Join(dir, "data", "dc_dbdata", ".move.lock"), "a move, a repair or an import"},
	} {
		pid := files.Holder(l.path)
		if pid == 0 || pid == last {
			continue
		}
		last = pid
		text := fmt.Sprintf("%s works in the folder: process %d has the lock %s", l.work, pid, l.path)
		if isStopped(pid) {
			d.addFinding("locks", fault, text+" and is stopped", fmt.Sprintf("kill -CONT %d", pid))
		} else {
			d.addFinding("locks", fine, text, "")
		}
	}
}

// isStopped reports whether a process is stopped by a signal.
func isStopped(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	state := childprocess.StateOf(text)
	return err == nil && (state == 'T' || state == 't')
}

// checkConfiguration asks each program for the errors of its ini file. A key that it does not know is one: what was meant
// has no effect.
func (d *doctor) checkConfiguration(n *node.Node) {
	type answer struct {
		lines []string
		err   error
	}
	names := node.Names()
	answers := make([]answer, len(names))
	inParallel(len(names), func(i int) { answers[i].lines, answers[i].err = n.CheckConfig(d.Ctx, names[i]) })
	good := true
	for i, name := range names {
		path := filepath.Join(n.Dir, "ini", name+".ini")
		if err := answers[i].err; err != nil {
			d.addFinding("configuration", fault, err.Error(), "edit "+path)
			good = false
		}
		for _, line := range answers[i].lines {
			for _, prefix := range []string{"warning: ", "error: ", name + ": "} {
				line = strings.TrimPrefix(line, prefix)
			}
			d.addFinding("configuration", fault, name+": "+line, configRemedy(line, path))
			good = false
		}
	}
	if good {
		d.addFinding("configuration", fine, filepath.Join(n.Dir, "ini"), "")
	}
}

func configRemedy(line, path string) string {
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" ()[],;:\"", r) }) {
		if strings.HasPrefix(word, "DC_") {
			return "unset " + word + " # or set it right"
		}
	}
	if strings.Contains(line, "permission denied") {
		return "sudo chown $(id -un) " + subcommand.ShellWord(path) + " && chmod u+rw " + subcommand.ShellWord(path)
	}
	return "edit " + path
}

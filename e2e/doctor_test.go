//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/childprocess"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/testkit/testgolden"
	"hce/dc/internal/wire/errormask"
)

// patient is an installation with a crawled site, in which a fault is plantedFaults.
type patient struct {
	t       *testing.T
	bin     string   // absolute
	dir     string   // data folder of hce
	index   string   // of hce-search
	target  string   // of ose
	archive string   // of archive
	args    []string // of hce doctor; nil: --data dir
	more    []string // arguments after them
	root    string   // URL of the site
	env     []string
	wrap    []string // a program that starts hce, with its arguments
}

// healthy returns an installation without a fault, of which each test takes a copy.
func healthy(t *testing.T) *patient {
	t.Helper()
	programs, err := filepath.Abs(bin)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := &patient{t: t, bin: programs, dir: filepath.Join(dir, "hce"), index: filepath.Join(dir, "index"), target: filepath.Join(dir, "target"), archive: filepath.Join(dir, "archive")}
	chromium := filepath.Join(dir, "path", "chromium") // the real one takes a second to say its version
	p.must(os.Mkdir(filepath.Dir(chromium), 0o755), os.WriteFile(chromium, []byte("#!/bin/sh\necho Chromium 120\n"), 0o755))
	w := newWitness(t, linked(8))
	p.root = w.URL + "/"
	p.run("hce", "crawl", p.root, "--data", p.dir, "--name", "site", "--delay", "0s", "--allow-network", "127.0.0.0/8")
	p.run("hce-search", "index", "--once", "--data", p.dir, "--dir", p.index)
	p.run("ose", "export", "site", p.target, "--data", p.dir)
	p.run("archive", "init", p.archive)
	p.run("archive", "crawler", w.URL+"/p7.html", "--root", p.archive, "--interval", "0", "--allow-network", "127.0.0.0/8")
	// As if a dc-daemon had worked in the folder, too.
	for _, name := range []string{"keys", "stat"} {
		p.must(exec.Command("cp", "-a", filepath.Join(p.archive, "crawler", "data", name), p.data(name)).Run())
	}
	return p
}

// copied returns a copy of an installation.
func (p *patient) copied(t *testing.T) *patient {
	t.Helper()
	dir := t.TempDir()
	one := &patient{t: t, bin: p.bin, root: p.root, dir: filepath.Join(dir, "hce"), index: filepath.Join(dir, "index"), target: filepath.Join(dir, "target"), archive: filepath.Join(dir, "archive")}
	one.must(exec.Command("cp", "-a", filepath.Dir(p.dir)+"/.", dir).Run())
	return one
}

func (p *patient) must(errs ...error) {
	p.t.Helper()
	if err := errors.Join(errs...); err != nil {
		p.t.Fatal(err)
	}
}

// run runs a program of the installation, which must not fail.
func (p *patient) run(program string, args ...string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, program), args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
}

// crawl crawls one URL that fails as a new site.
func (p *patient) crawl(url string, more ...string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, "hce"), append([]string{"crawl", url, "--data", p.dir, "--name", "failing", "--delay", "0s"}, more...)...)
	if out, err := cmd.CombinedOutput(); err == nil {
		p.t.Fatalf("the crawl of %s does not fail:\n%s", url, out)
	}
}

// fail makes a site whose only URL has failed.
func (p *patient) fail(url string, bit errormask.Mask) {
	p.t.Helper()
	p.run("hce", "site", "new", url, "--name", "failing", "--data", p.dir)
	p.ask(fmt.Sprintf(`["URL_UPDATE",[{"siteId":"failing","url":%q,"status":4,"errorMask":%d}]]`, url, uint64(bit)))
}

// ask sends an operation to the stores.
func (p *patient) ask(request string) {
	p.t.Helper()
	cmd := exec.Command(filepath.Join(p.bin, "db-task"), "-c", filepath.Join(p.dir, "ini", "db-task.ini"))
	cmd.Env = append(os.Environ(), "DC_Application_data_dir="+filepath.Join(p.dir, "data"))
	cmd.Stdin = strings.NewReader(request + "\n")
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte(`"errorCode":0`)) {
		p.t.Fatalf("%s: %v\n%s", request, err, out)
	}
}

// data returns a path in the data folder.
func (p *patient) data(parts ...string) string {
	return filepath.Join(append([]string{p.dir, "data"}, parts...)...)
}

// one returns the only file that matches a pattern in the data folder.
func (p *patient) one(pattern string) string {
	p.t.Helper()
	names, err := filepath.Glob(p.data(pattern))
	if err != nil || len(names) == 0 {
		p.t.Fatalf("no file %s: %v", pattern, err)
	}
	return names[0]
}

// flip changes a bit in the middle of a file.
func (p *patient) flip(path string) {
	p.t.Helper()
	text, err := os.ReadFile(path)
	p.must(err)
	text[len(text)/2] ^= 4
	p.must(os.WriteFile(path, text, 0o600))
}

// ini adds a line to a section of an ini file.
func (p *patient) ini(program, section, line string) {
	p.t.Helper()
	path := filepath.Join(p.dir, "ini", program+".ini")
	text, err := os.ReadFile(path)
	p.must(err)
	key, _, _ := strings.Cut(line, " =")
	changed := regexp.MustCompile(`(?m)^`+key+` *=.*$`).ReplaceAllString(string(text), "")
	changed = strings.Replace(changed, "["+section+"]\n", "["+section+"]\n"+line+"\n", 1)
	if changed == string(text) {
		p.t.Fatalf("%s has no section %s", path, section)
	}
	p.must(os.WriteFile(path, []byte(changed), 0o600))
}

// newBin gives the installation programs of its own: links to the others, apart from hce.
func (p *patient) newBin() {
	p.t.Helper()
	dir := filepath.Join(filepath.Dir(p.dir), "bin")
	p.must(os.Mkdir(dir, 0o755))
	for _, name := range []string{"dc-daemon", "db-task", "crawler-task", "processor-task"} {
		p.must(os.Symlink(filepath.Join(p.bin, name), filepath.Join(dir, name)))
	}
	p.must(exec.Command("cp", filepath.Join(p.bin, "hce"), dir).Run())
	p.bin = dir
}

// belong makes a file one of another user, whom this one may not read.
func (p *patient) belong(path string, mode os.FileMode) {
	p.t.Helper()
	p.must(os.Chmod(path, mode))
	if os.Geteuid() == 0 {
		p.must(os.Chown(path, 65534, 65534))
		p.wrap = []string{"setpriv", "--bounding-set", "-dac_override,-dac_read_search,-fowner"}
	}
}

// snapshot returns the newest snapshot of the search index.
func (p *patient) snapshot() string {
	text, err := os.ReadFile(filepath.Join(p.index, "index.json"))
	var head struct{ Snapshot string }
	p.must(err, json.Unmarshal(text, &head))
	return filepath.Join(p.index, "snapshots", head.Snapshot)
}

// sql runs statements on the database. VACUUM has to follow a change, as for every program without checksums of pages.
func (p *patient) sql(text string) {
	p.t.Helper()
	d, err := sql.Open("sqlite3", p.data("dc.db"))
	p.must(err)
	_, err = d.Exec(text)
	p.must(err, d.Close())
}

// finding is one result of hce doctor --json.
type finding struct{ Check, State, Text, Remedy string }

// doctor runs hce doctor and returns the faults.
func (p *patient) doctor() (faults []finding, status int) {
	p.t.Helper()
	args := append([]string{filepath.Join(p.bin, "hce"), "doctor", "--json"}, p.args...)
	if p.args == nil {
		args = append(args, "--data", p.dir)
	}
	args = append(append(slices.Clone(p.wrap), args...), p.more...)
	ctx, cancel := context.WithTimeout(p.t.Context(), crawlLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(append(os.Environ(), "PATH="+filepath.Join(filepath.Dir(p.dir), "path")+":/usr/bin:/bin"), p.env...)
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	var all []finding
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		p.t.Fatalf("%v: %v\n%s\n%s", args, err, &out, &talk)
	}
	for _, f := range all {
		if f.State == "fault" {
			faults = append(faults, f)
			if f.Remedy == "" || strings.Contains(f.Text, "\n") {
				p.t.Errorf("%+v has no remedy, or several lines", f)
			}
		}
	}
	return faults, cmd.ProcessState.ExitCode()
}

// plant is one fault: what it is, how it comes about, and a part of what doctor must say.
type plant struct {
	name  string
	check string // of the finding
	says  string // part of its text
	mends bool   // the remedy is a command after which doctor finds nothing
	do    func(p *patient)
}

// plantedFaults are the faults of docs/doctor.md, in its order.
var plantedFaults = slices.Concat(plantedMachine, plantedFolder, plantedContents, plantedSites, plantedOthers)

// TestFaults crawls one site and damages copies of the folder.
func TestFaults(t *testing.T) {
	t.Parallel()
	base := healthy(t)
	base.more = []string{base.index, base.target, base.archive}
	if faults, status := base.doctor(); status != 0 || len(faults) > 0 {
		t.Fatalf("a sound installation: status %d, %+v", status, faults)
	}
	t.Run("doctor", func(t *testing.T) { findFaults(t, base) })
	t.Run("leftovers", func(t *testing.T) { ignoreLeftovers(t, base.copied(t)) })
	t.Run("readers", func(t *testing.T) { readDamaged(t, base) })
	t.Run("site rm", func(t *testing.T) { removeSite(t, base) })
	t.Run("lost database", func(t *testing.T) { refuseLostDatabase(t, base) })
}

// findFaults plants each fault in a copy of a sound installation. hce doctor names the thing and what to do, in one line each,
// and ends with 1. docs/doctor.md has the table of what it said.
func findFaults(t *testing.T, base *patient) {
	rows := make([]string, len(plantedFaults))
	t.Run("planted", func(t *testing.T) {
		for i, f := range plantedFaults {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				rows[i] = f.find(t, base)
			})
		}
	})
	if os.Geteuid() == 0 && !t.Failed() { // other users cannot plant all of them
		testgolden.Part(t, "../docs/doctor.md", "| fault | what `hce doctor` says | remedy |\n|---|---|---|\n", "\n## Warnings", strings.Join(rows, ""))
	}
}

// find plants a fault, looks for it, and returns its row of the table.
func (f plant) find(t *testing.T, base *patient) (row string) {
	p := base.copied(t)
	f.do(p)
	faults, status := p.doctor()
	i := slices.IndexFunc(faults, func(found finding) bool { return found.Check == f.check && strings.Contains(found.Text, f.says) })
	if i < 0 || status != 1 {
		t.Fatalf("status %d, want a fault of %q that says %q:\n%+v", status, f.check, f.says, faults)
	}
	found := faults[i]
	if f.mends {
		cmd := exec.Command("sh", "-c", found.Remedy)
		cmd.Env = append(os.Environ(), "PATH="+p.bin+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", found.Remedy, err, out)
		}
		if faults, status := p.doctor(); status != 0 {
			t.Errorf("after %s: status %d, %+v", found.Remedy, status, faults)
		}
	}
	return fmt.Sprintf("| %s | %s: %s | %s |\n", f.name, found.Check, p.plain(found.Text), p.plain(found.Remedy))
}

var variable = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`127\.0\.\d+\.\d+:\d{2,5}`), "HOST:PORT"},
	{regexp.MustCompile(`[0-9a-f]{32}`), "KEY"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?|\d{8}T\d{6}\.\d+Z`), "TIME"},
	{regexp.MustCompile(`process \d+`), "process PID"},
	{regexp.MustCompile(`-CONT \d+`), "-CONT PID"},
	{regexp.MustCompile(`mode \d{4}`), "mode MODE"},
	{regexp.MustCompile(`\d+(\.\d)? [kM]B\b`), "SIZE"},
	{regexp.MustCompile(`has \d+ bytes instead of \d+`), "has N bytes instead of M"},
	{regexp.MustCompile(`\.warc at \d+`), ".warc at N"},
	{regexp.MustCompile(`line \d+`), "line N"},
	{regexp.MustCompile(`chown -R \w+`), "chown -R USER"},
	{regexp.MustCompile(`owner \w+`), "owner USER"},
	{regexp.MustCompile(`but hce is \S+`), "but hce is VERSION"},
	{regexp.MustCompile(`/\S*/dcdb\w*/s\b`), "SOCKET"},
	{regexp.MustCompile(`(Tree|Page|page|cell|rowid|row) \d+`), "$1 N"},
}

// plain replaces what differs between two runs, and what ends a cell of a table.
func (p *patient) plain(text string) string {
	text = strings.ReplaceAll(text, filepath.Dir(p.dir)+"/", "")
	text = strings.ReplaceAll(text, p.bin, "BIN")
	for _, v := range variable {
		text = v.pattern.ReplaceAllString(text, v.name)
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "|", `\|`), "\n", " ")
}

// ignoreLeftovers: what dead processes leave is no fault.
func ignoreLeftovers(t *testing.T, base *patient) {
	base.must(os.WriteFile(filepath.Join(base.dir, "crawl.lock"), []byte("999999\n"), 0o600),
		os.WriteFile(base.data("dc-daemon.lock"), []byte("999999\n"), 0o600))
	if faults, status := base.doctor(); status != 0 {
		t.Errorf("%+v", faults)
	}
}

var plantedMachine = []plant{
	{"a program is missing", "programs", "crawler-task: no such program in", false, func(p *patient) {
		p.newBin()
		p.must(os.Remove(filepath.Join(p.bin, "crawler-task")))
	}},
	{"a program has another version", "programs", "processor-task 0.1.0", false, func(p *patient) {
		p.newBin()
		p.script("processor-task", `echo "processor-task 0.1.0 (2025-01-01)"`)
	}},
	{"a program was cut", "programs", "db-task does not start", false, func(p *patient) {
		p.newBin()
		path := filepath.Join(p.bin, "db-task")
		p.must(os.Remove(path), os.WriteFile(path, []byte("\x7fELF\x02\x01\x01"), 0o755))
	}},
	{"too few open files", "open files", "the limit is 128", false, func(p *patient) { p.wrap = []string{"prlimit", "--nofile=128:128"} }},
	{"the temporary folder is missing", "temporary folder", "not a directory", false, func(p *patient) { p.env = append(p.env, "TMPDIR=/dev/null/none") }},
	{"the clock has gone back", "clock", "dc.db is from", false, func(p *patient) {
		future := time.Now().Add(400 * 24 * time.Hour)
		p.must(os.Chtimes(p.data("dc.db"), future, future))
	}},
	{"no Chromium, and a site needs it", "browser", "1 site needs it, such as site", false, func(p *patient) {
		p.run("hce", "site", "edit", "site", "--browser", "--data", p.dir)
		p.env = append(p.env, "PATH="+p.dir)
	}},
	{"Chromium does not start", "browser", "false does not start", false, func(p *patient) { p.ini("crawler-task", "Browser", "path = /bin/false") }},
}

// script writes a program of the installation.
func (p *patient) script(name, text string) {
	path := filepath.Join(p.bin, name)
	p.must(os.Remove(path), os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
}

// holding holds a lock of a file in another process, which is stopped by signal 0 or another one.
func (p *patient) holding(path string, signal syscall.Signal) {
	p.t.Helper()
	cmd := exec.Command("flock", path, "sh", "-c", "echo; exec sleep 600")
	cmd.Args = []string{"flock", "--no-fork", path, "sh", "-c", "echo; exec sleep 600"}
	out, err := cmd.StdoutPipe()
	p.must(err)
	_, err = childprocess.Start(cmd)
	p.must(err)
	p.t.Cleanup(func() { _ = cmd.Process.Kill() })
	_, err = out.Read(make([]byte, 1)) // it has the lock
	p.must(err, cmd.Process.Signal(signal))
}

// listening listens at a port until the end of the test and passes each connection on.
func (p *patient) listening(each func(net.Conn)) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	p.must(err)
	p.t.Cleanup(func() { l.Close() })
	go func() { // ends with the test
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go each(conn)
		}
	}()
	return l.Addr().String()
}

var plantedFolder = []plant{
	{"the folder has other files", "data folder", "it has other files", false, func(p *patient) {
		p.must(os.RemoveAll(p.dir), os.Mkdir(p.dir, 0o700), os.WriteFile(filepath.Join(p.dir, "thesis.txt"), nil, 0o600))
	}},
	{"the folder is a file", "data folder", "is not a folder", false, func(p *patient) { p.must(os.RemoveAll(p.dir), os.WriteFile(p.dir, nil, 0o600)) }},
	{"the folder belongs to another user", "data folder", "cannot be written", false, func(p *patient) { p.belong(p.dir, 0o555) }},
	{"the database belongs to another user", "files", "dc.db: permission denied", false, func(p *patient) { p.belong(p.data("dc.db"), 0o400) }},
	{"a file of contents cannot be read", "files", "site.db: permission denied", false, func(p *patient) { p.belong(p.data("dc_dbdata", "site.db"), 0o000) }},
	{"a folder of contents belongs to another user", "files", ".segments: permission denied", false, func(p *patient) { p.belong(p.data("dc_rdata", ".segments"), 0o500) }},
	{"the disk is full", "disk", "free at", false, func(p *patient) {
		disk := filepath.Join(filepath.Dir(p.dir), "disk")
		smallDisk(p.t, disk)
		p.dir = filepath.Join(disk, "hce")
	}},
	{"an ini file has a wrong value", "configuration", "max_hosts", false, func(p *patient) { p.ini("crawler-task", "CrawlerTask", "max_hosts = many") }},
	{"an ini file has an unknown key", "configuration", "did you mean max_hosts?", false, func(p *patient) { p.ini("crawler-task", "CrawlerTask", "max_host = 5") }},
	{"an ini file cannot be read", "configuration", "permission denied", false, func(p *patient) { p.belong(filepath.Join(p.dir, "ini", "processor-task.ini"), 0o000) }},
	{"an ini file is no ini file", "configuration", "db-task", false, func(p *patient) {
		p.must(os.WriteFile(filepath.Join(p.dir, "ini", "db-task.ini"), []byte("\x89PNG\r\n\x1a\n\x00\x00"), 0o600))
	}},
	{"a variable of the environment is wrong", "configuration", "DC_CrawlerTask_max_hosts", false, func(p *patient) { p.env = append(p.env, "DC_CrawlerTask_max_hosts=many") }},
	{"other users can read the keys", "keys", "other users can read", true, func(p *patient) { p.must(os.Chmod(p.data("keys"), 0o755)) }},
	{"the key of the daemon is damaged", "keys", "daemon.key", true, func(p *patient) { p.must(os.WriteFile(p.data("keys", "daemon.key"), []byte("secret x\n"), 0o600)) }},
	{"the key of the operator is cut", "keys", "admin.key", true, func(p *patient) { p.must(os.Truncate(p.data("keys", "operators", "admin.key"), 0)) }},
	{"a stopped process keeps others from the folder", "locks", "is stopped", true, func(p *patient) { p.holding(filepath.Join(p.dir, "crawl.lock"), syscall.SIGSTOP) }},
	{"a move of contents runs", "database", "contents are being moved", false, func(p *patient) { p.holding(p.data("dc_dbdata", ".move.lock"), 0) }},
	{"the state of a host is damaged", "state", ".gate is damaged", true, func(p *patient) { p.flipAt(p.one("dc_hosts/*.gate"), 20) }},
	{"the cookies of a site are damaged", "state", "is damaged", true, func(p *patient) {
		p.must(os.MkdirAll(p.data("dc_cookies", "site"), 0o700), os.WriteFile(p.data("dc_cookies", "site", "jar.json"), []byte(`{"a":`), 0o600))
	}},
	{"the counters of a manager are damaged", "state", "_stat_vars.json is damaged", true, func(p *patient) { p.must(os.Truncate(p.one("stat/*.json"), 5)) }},
	{"a task of the spool is damaged", "state", "t1 is damaged", true, func(p *patient) {
		p.must(os.MkdirAll(p.data("env", "t1"), 0o700), os.WriteFile(p.data("env", "t1", "task.json"), []byte(`{"id":"t1"`), 0o600))
	}},
}

// flipAt changes a bit of a byte.
func (p *patient) flipAt(path string, at int) {
	text, err := os.ReadFile(path)
	p.must(err)
	text[at] ^= 4
	p.must(os.WriteFile(path, text, 0o600))
}

// merged writes the log of the database into its file, so that damage of the file counts.
func (p *patient) merged() string {
	p.sql("PRAGMA wal_checkpoint(TRUNCATE)")
	return p.data("dc.db")
}

var plantedContents = []plant{
	{"the database is missing", "database", "dc.db is missing", false, func(p *patient) { p.must(os.Remove(p.merged())) }},
	{"the database is empty", "database", "dc.db has 0 bytes", false, func(p *patient) { p.must(os.Truncate(p.merged(), 0)) }},
	{"the database is another file", "database", "dc.db", false, func(p *patient) {
		p.must(os.WriteFile(p.merged(), bytes.Repeat([]byte("no database "), 1000), 0o600))
	}},
	{"a page of the database is damaged", "stores", "dc.db", false, func(p *patient) { p.damageIndex() }},
	{"the database is new, the contents are old", "stores", "the database has no sites, but", false, func(p *patient) {
		empty := filepath.Join(filepath.Dir(p.dir), "empty")
		p.run("hce", "site", "new", "https://example.org/", "--name", "other", "--data", empty)
		p.run("hce", "site", "rm", "other", "--yes", "--data", empty)
		p.must(os.Remove(p.merged()), exec.Command("sh", "-c", "cp "+empty+"/data/dc.db* "+p.data()).Run())
	}},
	{"the database was restored from an older copy", "stores", "not in the database", false, func(p *patient) {
		p.must(os.WriteFile(p.data("dc_rdata", ".segments", "0000000099.warc"), []byte("WARC/1.1\r\n"), 0o600))
	}},
	{"a newer program has written the database", "database", "newer schema", false, func(p *patient) {
		p.sql("INSERT INTO \"dc_sites.schema_steps\" (Number, Name, CDate) VALUES (999, 'future', '2030-01-01'); VACUUM")
	}},
	{"MariaDB does not run", "database", "connection refused", false, func(p *patient) {
		p.env = append(p.env, "DC_TasksManager_db_driver=mysql", "DC_TasksManager_db_host=127.0.0.1", "DC_TasksManager_db_port=1")
	}},
	{"MariaDB refuses the password", "database", "check db_user and db_pwd", false, func(p *patient) {
		p.env = append(append(p.env, databaseOf(p.t, sqldb.DriverMySQL)...), "DC_TasksManager_db_user=nobody", "DC_TasksManager_db_pwd=wrong")
	}},
	{"the file of processed contents is missing", "stores", "site.db: the file is missing", false, func(p *patient) { p.must(os.Remove(p.contents())) }},
	{"the file of processed contents is empty", "stores", "site.db: the file has 0 bytes", false, func(p *patient) { p.must(os.Truncate(p.contents(), 0)) }},
	{"the file of processed contents is another file", "stores", "site.db", false, func(p *patient) {
		p.must(os.WriteFile(p.contents(), bytes.Repeat([]byte("no contents "), 1000), 0o600))
	}},
	{"a bit of a processed content has flipped", "stores", "damaged processed content", false, func(p *patient) { p.flipContent() }},
	{"a processed content is gone", "stores", "its content is missing", false, func(p *patient) { p.dropContent() }},
	{"a segment of raw contents is missing", "stores", "no such file", false, func(p *patient) { p.must(os.Remove(p.one("dc_rdata/.segments/*.warc"))) }},
	{"a segment of raw contents was cut", "stores", "bytes instead of", false, func(p *patient) { p.must(os.Truncate(p.one("dc_rdata/.segments/*.warc"), 500)) }},
	{"a bit of a raw content has flipped", "stores", "damaged raw content", false, func(p *patient) { p.flip(p.one("dc_rdata/.segments/*.warc")) }},
}

// contents returns the file of processed contents, with all of its log.
func (p *patient) contents() string {
	path := p.data("dc_dbdata", "site.db")
	d, err := sql.Open("sqlite3", path)
	p.must(err)
	_, err = d.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	p.must(err, d.Close())
	return path
}

// inContents runs a statement on the file of processed contents.
func (p *patient) inContents(statement string) {
	d, err := sql.Open("sqlite3", p.contents())
	p.must(err)
	_, err = d.Exec(statement)
	p.must(err, d.Close())
}

func (p *patient) flipContent() {
	p.inContents("UPDATE articles SET data = CAST(substr(data, 1, 20) || x'00' || substr(data, 22) AS BLOB) WHERE rowid = (SELECT MIN(rowid) FROM articles)")
}

func (p *patient) dropContent() {
	p.inContents("DELETE FROM articles WHERE rowid = (SELECT MIN(rowid) FROM articles)")
}

// damageIndex overwrites the root page of an index that no query of the start uses.
func (p *patient) damageIndex() {
	d, err := sql.Open("sqlite3", p.merged())
	p.must(err)
	var page, size int64
	p.must(d.QueryRow("SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_master WHERE type = 'index' AND tbl_name = 'dc_urls.urls' ORDER BY rootpage DESC").Scan(&page, &size), d.Close())
	f, err := os.OpenFile(p.data("dc.db"), os.O_WRONLY, 0)
	p.must(err)
	_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, int(size)), (page-1)*size)
	p.must(err, f.Close())
}

// refusing is a server that answers each request with a code.
func (p *patient) refusing(code int) (url string) {
	return newWitness(p.t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" && code != http.StatusServiceUnavailable {
			code := http.StatusNotFound
			w.WriteHeader(code)
			return
		}
		w.WriteHeader(code)
		fmt.Fprint(w, http.StatusText(code))
	})).URL + "/"
}

const retryOnce = `RETRY={"*":{"attempts":1}}`

var plantedSites = []plant{
	{"a property of a site cannot be read", "sites", "USER_PROXY", true, func(p *patient) {
		p.ask(`["SITE_UPDATE",{"id":"site","updateType":0,"properties":{"USER_PROXY":"{\"proxies\":"}}]`)
	}},
	{"a filter of a site does not compile", "sites", "nothing is fetched", false, func(p *patient) {
		p.ask(`["SITE_UPDATE",{"id":"site","updateType":0,"filters":[{"siteId":"site","pattern":"(","subject":"","opCode":0,"stage":1,"action":1,"state":1,"type":1}]}]`)
	}},
	{"the proxy of a site does not answer", "sites", "does not answer", false, func(p *patient) {
		p.run("hce", "site", "edit", "site", "--property", "HTTP_PROXY_HOST=127.0.0.1:1", "--data", p.dir)
	}},
	{"a site lies in a network that is not public", "sites", "SSRF_GUARD", false, func(p *patient) { p.fail("http://10.0.0.1/", errormask.Guard) }},
	{"a host does not answer", "sites", "CONNECTION_ERROR", false, func(p *patient) {
		p.crawl("http://127.0.0.1:1/", "--allow-network", "127.0.0.0/8", "--property", "RETRY=0")
	}},
	{"a name does not resolve", "sites", "CONNECTION_ERROR", false, func(p *patient) { p.fail("http://no-such-host.invalid/", errormask.Connection) }},
	{"a site wants a password", "sites", "AUTH_ERROR", false, func(p *patient) { p.crawl(p.refusing(401), "--allow-network", "127.0.0.0/8") }},
	{"robots.txt cannot be read", "sites", "robots.txt", false, func(p *patient) {
		p.crawl(p.refusing(503), "--allow-network", "127.0.0.0/8", "--property", retryOnce)
	}},
	{"all URLs of a site fail", "sites", "HTTP_ERROR", false, func(p *patient) { p.crawl(p.refusing(404), "--allow-network", "127.0.0.0/8") }},
	{"the pages of a site cannot be processed", "sites", "cannot be processed", false, func(p *patient) {
		for i := range 8 {
			p.ask(fmt.Sprintf(`["URL_UPDATE",[{"siteId":"site","url":"%sp%d.html","errorMask":%d}]]`, p.root, i, uint64(errormask.ProcessorBudget)))
		}
	}},
}

var plantedOthers = []plant{
	{"another program has the port of the daemon", "daemon", "is no dc-daemon", false, func(p *patient) {
		p.args = []string{"--server", strings.TrimPrefix(newWitness(p.t, http.NotFoundHandler()).URL, "http://")}
	}},
	{"the daemon is silent", "daemon", "is silent", false, func(p *patient) {
		p.args = []string{"--server", p.listening(func(c net.Conn) { <-p.t.Context().Done(); c.Close() })}
	}},
	{"the daemon does not run", "service", "connection refused", false, func(p *patient) { p.args = []string{"--server", "127.0.0.1:1"} }},
	{"a NATS server does not answer", "NATS", "connection refused", false, func(p *patient) {
		p.ini("dc-daemon", "Cluster", "engine = nats")
		p.ini("dc-daemon", "Cluster", "urls = nats://127.0.0.1:1")
	}},
	{"a file of the search index is damaged", "search index", "damaged", true, func(p *patient) {
		p.more = []string{p.index}
		names, err := filepath.Glob(filepath.Join(p.snapshot(), "store", "*.zap"))
		p.must(err)
		p.flip(names[0])
	}},
	{"a file of the search index is missing", "search index", "root.bolt", true, func(p *patient) {
		p.more = []string{p.index}
		p.must(os.Remove(filepath.Join(p.snapshot(), "store", "root.bolt")))
	}},
	{"the search index has the format of another version", "search index", "earlier format", true, func(p *patient) {
		p.more = []string{p.index}
		p.must(os.WriteFile(filepath.Join(p.index, "index.json"), []byte(`{"format":1,"work":"work-1","snapshot":""}`), 0o600))
	}},
	{"the list of URLs of a target was cut", "ose", ".urls", false, func(p *patient) {
		p.more = []string{p.target}
		path := filepath.Join(p.target, ".urls")
		info, err := os.Stat(path)
		p.must(err, os.Truncate(path, info.Size()/2))
	}},
	{"the state of a target is damaged", "ose", ".osestatus", false, func(p *patient) {
		p.more = []string{p.target}
		p.must(os.WriteFile(filepath.Join(p.target, ".osestatus"), []byte("\x00\x00\x00"), 0o600))
	}},
	{"a page of an archive is damaged", "archive", "other bytes than git", true, func(p *patient) {
		p.more = []string{p.archive}
		p.must(filepath.WalkDir(filepath.Join(p.archive, "content"), func(path string, e os.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && !strings.Contains(path, ".git") && !strings.HasSuffix(path, ".xml") {
				p.flip(path)
			}
			return err
		}))
	}},
	{"the database of an archive is another file", "archive", "archive", true, func(p *patient) {
		p.more = []string{p.archive}
		names, err := filepath.Glob(filepath.Join(p.archive, "*.db*"))
		p.must(err)
		for _, name := range names {
			p.must(os.WriteFile(name, []byte("no database, but a text that is long enough"), 0o600))
		}
	}},
}

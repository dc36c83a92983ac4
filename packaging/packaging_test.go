// Package packaging has the files that run the crawler as a system service: units, users
// and log rotation. scripts/package.sh builds the installed file tree from them, and the
// tests check that tree with the programs in it.
package packaging

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/config"
)

// root is the installed file tree.
var root string

func TestMain(m *testing.M) { os.Exit(install(m)) }

// install builds the tree and runs the tests.
func install(m *testing.M) int {
	folder, err := os.MkdirTemp("", "packaging-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	root = filepath.Join(folder, "out", "root")
	bin, share := filepath.Join(folder, "bin"), filepath.Join(folder, "share")
	for _, args := range [][]string{
		{"go", "build", "-buildvcs=false", "-ldflags=-w -X hce/dc/internal/cli/command.version=test-version", "-o", bin + string(filepath.Separator), "./cmd/..."},
		{"scripts/man.sh", bin, share},
		{"scripts/package.sh", filepath.Join(folder, "out"), bin, share},
	} {
		c := exec.Command(args[0], args[1:]...)
		c.Dir = ".."
		if out, err := c.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%q: %s%v\n", args, out, err)
			return 1
		}
	}
	return m.Run()
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// installed returns the place of an absolute path in the tree.
func installed(path string) string { return filepath.Join(root, path) }

// requireProgram fails the test if a program of the set-up is missing.
func requireProgram(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Fatalf("%v: run scripts/setup.sh test", err)
	}
}

func exists(t *testing.T, why, path string) {
	t.Helper()
	if _, err := os.Stat(installed(path)); err != nil {
		t.Errorf("%s names %s, which is not installed", why, path)
	}
}

// settings returns the values of each key of a unit.
func settings(t *testing.T, path string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, line := range strings.Split(text(t, path), "\n") {
		if key, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			all[key] = append(all[key], value)
		}
	}
	return all
}

const unitFolder = "/usr/lib/systemd/system/"

// services are the programs with a unit.
var services = []string{"dc-daemon", "dc-node"}

// The paths and options of the units exist and agree with the ini files.
func TestUnits(t *testing.T) {
	for _, service := range services {
		t.Run(service, func(t *testing.T) { checkUnit(t, service) })
	}
}

func checkUnit(t *testing.T, service string) {
	unit := settings(t, installed(unitFolder+service+".service"))
	one := func(key string) string {
		t.Helper()
		if len(unit[key]) != 1 {
			t.Fatalf("%s = %q", key, unit[key])
		}
		return unit[key][0]
	}
	words := strings.Fields(one("ExecStart"))
	exists(t, "ExecStart", words[0])
	help, err := exec.Command(installed(words[0]), "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range words[1:] {
		switch {
		case strings.HasPrefix(w, "-"):
			if !regexp.MustCompile(`(?m)^ +(-\S+, )?` + regexp.QuoteMeta(w) + `\b`).Match(help) {
				t.Errorf("ExecStart: option %s is unknown", w)
			}
		case strings.HasPrefix(words[i], "-c"):
			exists(t, "ExecStart", w)
		}
	}
	f, err := config.Load(installed("/etc/" + service + "/" + service + ".ini"))
	if err != nil {
		t.Fatal(err)
	}
	app := f.Application(service, "stderr")
	if want := "/var/lib/" + one("StateDirectory"); app.DataDir != want || one("WorkingDirectory") != want {
		t.Errorf("data in %s, the unit has %s", app.DataDir, want)
	}
	if admin, err := config.Load(installed("/etc/dc-admin/dc-admin.ini")); err != nil || admin.Section("dtma").Path("keys", "") != filepath.Join(app.DataDir, "keys") {
		t.Errorf("dc-admin does not look for its keys in %s: %v", app.DataDir, err)
	}
	if app.Log.File != "" {
		t.Errorf("the daemon logs to %s, not to the journal", app.Log.File)
	}
	if !strings.HasPrefix(text(t, installed("/usr/lib/sysusers.d/dc.conf")), "u "+one("User")+" ") {
		t.Error("sysusers does not create the user of the unit")
	}
	logs := "/var/log/" + one("LogsDirectory") + "/"
	for _, name := range []string{"db-task", "crawler-task", "processor-task"} {
		task, err := config.Load(installed("/etc/" + name + "/" + name + ".ini")) // a link
		if err != nil {
			t.Fatal(err)
		}
		app := task.Application(name, "stderr")
		if app.DataDir != "/var/lib/"+one("StateDirectory") || app.Log.File != logs+name+".log" {
			t.Errorf("%s: data in %s, log %s", name, app.DataDir, app.Log.File)
		}
	}
	rotation := text(t, installed("/etc/logrotate.d/dc"))
	if !strings.Contains(rotation, "\n"+logs+"*.log {") || !strings.Contains(rotation, " "+service+".service") || strings.Contains(rotation, "copytruncate") {
		t.Error("logrotate does not rotate these logs")
	}
	for _, key := range []string{"NoNewPrivileges", "PrivateTmp", "ProtectSystem", "SystemCallFilter", "RestrictAddressFamilies", "LimitNOFILE", "WatchdogSec"} {
		one(key)
	}
	if one("Type") != "notify" || one("KillMode") != "mixed" {
		t.Error("want Type=notify, because the daemon reports its state, and KillMode=mixed, because it ends its tasks itself")
	}
}

// Each path in an installed ini file is installed, or is in the data and log folders, where
// the programs create it. No path is relative.
func TestInstalledIniFiles(t *testing.T) {
	files, err := filepath.Glob(installed("/etc/*/*.ini"))
	if err != nil || len(files) != 12 { // nine files and three links
		t.Fatalf("%q %v", files, err)
	}
	path := regexp.MustCompile(`(^|[ =])(/[\w./-]+|\.\.?/[\w./-]+)`)
	named := 0
	for _, file := range files {
		for _, line := range strings.Split(text(t, file), "\n") {
			if strings.HasPrefix(line, ";") || !strings.Contains(line, "=") {
				continue
			}
			for _, m := range path.FindAllStringSubmatch(line, -1) {
				named++
				p := m[2]
				switch {
				case strings.HasPrefix(p, "/var/lib/dc"), strings.HasPrefix(p, "/var/log/dc/"):
				case strings.HasPrefix(p, "/"):
					exists(t, file, p)
				default:
					t.Errorf("%s: %s", file, line)
				}
			}
			if key, value, _ := strings.Cut(line, " = "); slices.Contains([]string{"db-task_ini", "headers_file", "cookie_file"}, key) && !filepath.IsAbs(value) {
				t.Errorf("%s: %s", file, line)
			}
		}
	}
	if named < 10 {
		t.Errorf("only %d paths were found", named)
	}
}

// systemd-analyze accepts the units, with and without the drop-in for the browser.
func TestSystemdAnalyze(t *testing.T) {
	requireProgram(t, "systemd-analyze")
	for _, service := range services {
		t.Run(service, func(t *testing.T) { analyze(t, service) })
	}
}

func analyze(t *testing.T, service string) {
	folder := t.TempDir()
	// systemd-analyze checks that the program exists.
	unit := strings.ReplaceAll(text(t, installed(unitFolder+service+".service")), "ExecStart=/usr/bin/", "ExecStart="+installed("/usr/bin")+"/")
	name := filepath.Join(folder, service+".service")
	dropIn := filepath.Join(folder, service+".service.d", "browser.conf")
	if err := os.WriteFile(name, []byte(unit), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, with := range []string{"", "browser.conf"} {
		if with != "" {
			if err := os.Mkdir(filepath.Dir(dropIn), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(dropIn, []byte(text(t, filepath.Join("systemd", with))), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		out, err := exec.Command("systemd-analyze", "verify", "--man=no", name).CombinedOutput()
		var complaints []string
		for _, line := range strings.Split(string(out), "\n") {
			if strings.Contains(line, service) || strings.Contains(line, "browser.conf") {
				complaints = append(complaints, line)
			}
		}
		if len(complaints) > 0 {
			t.Errorf("%q: %v\n%s", with, err, strings.Join(complaints, "\n"))
		}
	}
}

// systemd-sysusers creates the user dc, in a root folder of the test.
func TestSysusers(t *testing.T) {
	requireProgram(t, "systemd-sysusers")
	other := t.TempDir()
	conf := filepath.Join(other, "usr", "lib", "sysusers.d", "dc.conf")
	for _, folder := range []string{filepath.Join(other, "etc"), filepath.Dir(conf)} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(conf, []byte(text(t, installed("/usr/lib/sysusers.d/dc.conf"))), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-sysusers", "--root="+other, "dc.conf").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if !strings.Contains(text(t, filepath.Join(other, "etc", "passwd")), "dc:") {
		t.Error("no user dc")
	}
}

// Each program accepts its ini file from ini/ and the installed one. In the latter only
// folders and programs are missing, because they are not installed on this system.
func TestProgramsCheckTheirIniFiles(t *testing.T) {
	for _, name := range []string{"dc-daemon", "dc-node", "db-task", "crawler-task", "processor-task", "hce-webserver"} {
		check := []string{"--check-config", "-c"}
		if name == "hce-webserver" {
			check = slices.Insert(check, 0, "serve")
		}
		c := exec.Command(installed("/usr/bin/"+name), append(check, filepath.Join("..", "ini", name+".ini"))...)
		var out, errs strings.Builder
		c.Stdout, c.Stderr = &out, &errs
		_ = c.Run() // fails if the programs of dc-daemon.ini are not built
		for _, line := range strings.Split(strings.TrimSpace(errs.String()), "\n") {
			if line != "" && line != name+": the configuration is invalid" && !strings.Contains(line, "no such file or directory") {
				t.Errorf("%s: %s", name, line)
			}
		}
		if !strings.Contains(out.String(), "data_dir = ") || strings.Contains(out.String(), "unknown") {
			t.Errorf("%s:\n%s", name, out.String())
		}
		folder := "/etc/dc-daemon/"
		if name == "dc-node" || name == "hce-webserver" {
			folder = "/etc/" + name + "/"
		}
		c = exec.Command(installed("/usr/bin/"+name), append(check, installed(folder+name+".ini"))...)
		text, _ := c.Output() // fails: its paths do not exist
		for _, want := range []string{"data_dir = /var/lib/dc\n"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
	}
}

// This test reads all source folders, so that Go's test cache notices changes of the
// programs.
func TestSources(t *testing.T) {
	folders := 0
	err := filepath.WalkDir("..", func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
				return fs.SkipDir
			}
			folders++
		}
		return err
	})
	if err != nil || folders < 50 {
		t.Errorf("%d folders, %v", folders, err)
	}
}

// Unpacking the archive changes no mode of a system folder, whatever the umask was.
func TestArchive(t *testing.T) {
	out, err := exec.Command("tar", "-tvzf", filepath.Join(filepath.Dir(root), "dc.tar.gz")).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) < 40 {
		t.Errorf("%d entries", len(lines))
	}
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) < 6 || f[1] != "0/0" || !strings.HasPrefix(f[5], "etc/") && !strings.HasPrefix(f[5], "usr/") {
			t.Errorf("entry %s", line)
			continue
		}
		if f[0][0] != 'l' && (f[0][7] != 'r' || f[0][5] == 'w' || f[0][8] == 'w') {
			t.Errorf("mode of %s", line)
		}
	}
}

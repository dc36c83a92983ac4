// Package scripts_test runs setup.sh on machines that are made up of stubs: a
// PATH with the usual tools and with programs that say what a case wants.
package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// machine is one made-up system: a copy of the script in a repository of its
// own, and the folder that is its whole PATH.
type machine struct {
	t          *testing.T
	repo, path string
	docs       string
	goroot     string // what /usr/local/go is elsewhere
}

// usualTools are the real programs that the script may count on everywhere.
var usualTools = []string{"sh", "dirname", "sed", "sort", "head", "tail", "cut", "mkdir", "cp", "chmod", "find", "mv", "rm", "mktemp", "readlink", "ln", "cat", "env", "touch", "tr", "true"}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, repo: t.TempDir(), path: t.TempDir(), docs: t.TempDir(), goroot: filepath.Join(t.TempDir(), "go")}
	for _, tool := range usualTools {
		real, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(real, filepath.Join(m.path, tool)); err != nil {
			t.Fatal(err)
		}
	}
	script, err := os.ReadFile("setup.sh")
	if err != nil {
		t.Fatal(err)
	}
	m.write(filepath.Join(m.repo, "scripts/setup.sh"), string(script), 0o755)
	m.write(filepath.Join(m.repo, "go.mod"), "module x\n\ngo 1.26.0\n", 0o644)
	m.write(filepath.Join(m.repo, "tools/go.mod"), "require (\n\tgithub.com/versity/versitygw v1.8.0 // indirect\n)\n", 0o644)
	m.stub("id", "echo 1000")
	return m
}

func (m *machine) write(path, text string, mode os.FileMode) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		m.t.Fatal(err)
	}
}

// stub puts a program into PATH. $LOG is a file that it may write to, $BIN the
// PATH itself.
func (m *machine) stub(name, text string) {
	m.t.Helper()
	m.write(filepath.Join(m.path, name), "#!/bin/sh\n"+text+"\n", 0o755)
}

// complete puts in all that the build needs, and promtool, versitygw and the JavaScript packages, which have
// tests of their own.
func (m *machine) complete() {
	m.stub("promtool", "")
	m.write(filepath.Join(m.repo, ".cache/versitygw-v1.8.0"), "", 0o755)
	for _, name := range npmPackages {
		m.write(filepath.Join(m.repo, ".cache/node_modules", name), "", 0o644)
	}
	m.stub("go", "echo go1.26.3")
	m.stub("cc", "")
	m.stub("pkg-config", "")
	m.stub("make", "")
}

// debian makes apt-get work, as root or through sudo. What the install of a
// package brings is up to the case.
func (m *machine) debian(install string) {
	m.stub("apt-get", `echo "apt-get $*" >>"$LOG"; case $1 in install) `+install+` ;; esac`)
}

// testPrograms are the programs that the tests start.
var testPrograms = []string{
	"wget", "sqlite3", "chromium", "mariadbd", "mariadb-install-db", "resolveip", "my_print_defaults",
	"groff", "man", "zsh", "fish", "systemd-analyze", "systemd-sysusers", "strace", "git", "xmllint", "xmlschema-validate", "node",
}

// npmPackages are the JavaScript packages of the tests in setup.sh, with their versions.
var npmPackages = readNpmPackages()

func readNpmPackages() (names []string) {
	script, err := os.ReadFile("setup.sh")
	if err != nil {
		panic(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^(?:npm_packages=')?(\S+) (\S+) [0-9a-f]{64}'?$`).FindAllSubmatch(script, -1) {
		names = append(names, string(m[1])+"/version-"+string(m[2]))
	}
	return names
}

// testTools puts in the programs that the tests start.
func (m *machine) testTools() {
	for _, name := range testPrograms {
		m.stub(name, "")
	}
}

func (m *machine) root() { m.stub("id", "echo 0") }

// run runs the script and gives its exit code, what it said and the log.
func (m *machine) run(args ...string) (code int, said, log string) {
	m.t.Helper()
	logFile := filepath.Join(m.repo, "calls")
	cmd := exec.Command(filepath.Join(m.repo, "scripts/setup.sh"), args...)
	cmd.Env = []string{"PATH=" + m.path, "BIN=" + m.path, "LOG=" + logFile, "DOCS_ROOT=" + m.docs, "USUAL_GO=" + m.goroot, "SERVER_ROOT=" + filepath.Join(m.path, "sbin"), "TMPDIR=" + m.t.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		if _, ok := err.(*exec.ExitError); !ok {
			m.t.Fatal(err)
		}
	}
	calls, _ := os.ReadFile(logFile)
	return cmd.ProcessState.ExitCode(), string(out), string(calls)
}

func TestNothingMissing(t *testing.T) {
	m := newMachine(t)
	m.complete()
	m.debian("")
	m.root()
	if code, said, log := m.run(); code != 0 || said != "" || log != "" {
		t.Errorf("exit %d, said %q, called %q", code, said, log)
	}
}

func TestUsage(t *testing.T) {
	m := newMachine(t)
	if code, said, _ := m.run("tests"); code != 2 || !strings.HasPrefix(said, "usage:") {
		t.Errorf("exit %d, said %q", code, said)
	}
}

func TestMissingWhereNothingMayBeInstalled(t *testing.T) {
	for name, prepare := range map[string]func(*machine){
		"no apt-get":                func(m *machine) {},
		"no root, no sudo":          func(m *machine) { m.debian("") },
		"sudo wants a password":     func(m *machine) { m.debian(""); m.stub("sudo", "exit 1") },
		"root without apt-get":      func(m *machine) { m.root() },
		"libzmq without pkg-config": func(m *machine) { os.Remove(filepath.Join(m.path, "pkg-config")) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.complete()
			m.stub("pkg-config", "exit 1")
			prepare(m)
			code, said, log := m.run()
			if code != 1 || strings.Count(said, "\n") != 1 || !strings.Contains(said, "libzmq3-dev") || log != "" {
				t.Errorf("exit %d, said %q, called %q", code, said, log)
			}
		})
	}
}

func TestInstalls(t *testing.T) {
	install := `touch "$BIN/zmq"`
	for name, prepare := range map[string]func(*machine){
		"as root":      func(m *machine) { m.root() },
		"through sudo": func(m *machine) { m.stub("sudo", `shift; exec "$@"`) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.complete()
			m.stub("pkg-config", `test -e "$BIN/zmq"`)
			m.debian(install)
			prepare(m)
			code, said, log := m.run()
			want := "apt-get update -qq\napt-get install -y -qq --no-install-recommends libzmq3-dev\n"
			if code != 0 || said != "setup: installing libzmq3-dev\n" || log != want {
				t.Errorf("exit %d, said %q, called %q", code, said, log)
			}
			if code, said, _ := m.run(); code != 0 || said != "" {
				t.Errorf("second run: exit %d, said %q", code, said)
			}
		})
	}
}

func TestInstallThatFailsIsTold(t *testing.T) {
	m := newMachine(t)
	m.complete()
	m.stub("pkg-config", "exit 1")
	m.debian("echo no space left >&2; exit 100")
	m.root()
	if code, said, _ := m.run(); code != 1 || !strings.Contains(said, "no space left") || !strings.Contains(said, "libzmq3-dev failed") {
		t.Errorf("exit %d, said %q", code, said)
	}
}

// oldGo is a Go that can only fetch modules.
const oldGo = `case "$1 $2" in
"env GOVERSION") echo go1.19.8 ;;
"env GOOS") echo linux ;;
"env GOARCH") echo amd64 ;;
"version ") echo go version go1.19.8 linux/amd64 ;;
"mod download")
	echo "go $*" >>"$LOG"
	to="$GOMODCACHE/$3"
	mkdir -p "$to/bin" "$to/pkg/tool/linux_amd64" "$to/src/cmd"
	printf '#!/bin/sh\necho go1.26.0\n' >"$to/bin/go"
	touch "$to/pkg/tool/linux_amd64/compile" "$to/src/_go.mod" "$to/src/cmd/_go.mod" ;;
esac`

func TestOldGoFetchesTheToolchain(t *testing.T) {
	m := newMachine(t)
	m.complete()
	m.stub("go", oldGo)
	code, said, log := m.run()
	if code != 0 || log != "go mod download golang.org/toolchain@v0.0.1-go1.26.0.linux-amd64\n" || said != "setup: fetching Go 1.26.0 with go1.19.8\n" {
		t.Errorf("exit %d, said %q, called %q", code, said, log)
	}
	for name, executable := range map[string]bool{"bin/go": true, "pkg/tool/linux_amd64/compile": true, "src/go.mod": false, "src/cmd/go.mod": false} {
		info, err := os.Stat(filepath.Join(m.repo, ".cache/go", name))
		if err != nil || (info.Mode()&0o100 != 0) != executable {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(m.repo, ".cache")); err != nil || len(entries) != 3 { // and node_modules and versitygw
		t.Errorf("left in .cache: %v, %v", entries, err)
	}
	if code, said, _ := m.run(); code != 0 || said != "" {
		t.Errorf("second run: exit %d, said %q", code, said)
	}
}

func TestNoGo(t *testing.T) {
	t.Run("from apt", func(t *testing.T) {
		m := newMachine(t)
		m.complete()
		os.Remove(filepath.Join(m.path, "go"))
		m.debian(`printf '#!/bin/sh\necho go1.26.1\n' >"$BIN/go"; chmod +x "$BIN/go"`)
		m.root()
		if code, said, log := m.run(); code != 0 || !strings.Contains(log, "golang-go") {
			t.Errorf("exit %d, said %q, called %q", code, said, log)
		}
	})
	t.Run("in its usual place", func(t *testing.T) {
		m := newMachine(t)
		m.complete()
		os.Remove(filepath.Join(m.path, "go"))
		m.write(filepath.Join(m.goroot, "bin/go"), "#!/bin/sh\necho go1.26.1\n", 0o755)
		if code, said, log := m.run(); code != 0 || said != "" || log != "" {
			t.Errorf("exit %d, said %q, called %q", code, said, log)
		}
	})
	t.Run("nowhere", func(t *testing.T) {
		m := newMachine(t)
		m.complete()
		os.Remove(filepath.Join(m.path, "go"))
		if code, said, _ := m.run(); code != 1 || strings.Count(said, "\n") != 1 || !strings.Contains(said, "Go 1.26.0") {
			t.Errorf("exit %d, said %q", code, said)
		}
	})
	t.Run("too old, and no way to a newer one", func(t *testing.T) {
		m := newMachine(t)
		m.complete()
		m.stub("go", `case "$1" in mod) exit 1 ;; *) echo go1.19.8 ;; esac`)
		if code, said, _ := m.run(); code != 1 || !strings.Contains(said, "too old") {
			t.Errorf("exit %d, said %q", code, said)
		}
	})
}

// firstPages are the files by which the script knows the documentation.
var firstPages = []string{"postgresql-doc-15/html/index.html", "python3.11/html/index.html", "apache2-doc/manual/en/index.html", "openjdk-17-jre-headless/api/index.html"}

func TestDocumentation(t *testing.T) {
	t.Run("there", func(t *testing.T) {
		m := newTestMachine(t)
		m.debian("")
		if code, said, log := m.run("test"); code != 0 || said != "" || log != "" {
			t.Errorf("exit %d, said %q, called %q", code, said, log)
		}
	})
	t.Run("installed by apt", func(t *testing.T) {
		m := newMachine(t)
		m.complete()
		m.debian(`for p in ` + strings.Join(firstPages, " ") + `; do mkdir -p "$DOCS_ROOT/$(dirname $p)"; touch "$DOCS_ROOT/$p"; done; ` + mirror)
		m.stub("dpkg", "exit 1")
		m.root()
		if code, said, log := m.run("test"); code != 0 || !strings.Contains(log, "--no-install-recommends wget sqlite3 chromium mariadb-server-core mariadb-client-core groff-base man-db zsh fish systemd strace git libxml2-utils python3-xmlschema nodejs\n") || strings.Contains(log, "download") {
			t.Errorf("exit %d, said %q, called %q", code, said, log)
		}
	})
	t.Run("left out by dpkg, or no root", func(t *testing.T) {
		m := newMachine(t)
		m.complete()
		m.testTools()
		m.stub("dpkg", "")
		m.stub("apt-get", `echo "apt-get $*" >>"$LOG"; [ "$1" = download ] && touch "$3_1.0_all.deb"`)
		m.stub("dpkg-deb", `for p in `+strings.Join(firstPages, " ")+`; do mkdir -p "$3/usr/share/doc/$(dirname $p)"; echo page >"$3/usr/share/doc/$p"; done
ln -s ../../../../javascript/jquery/jquery.js "$3/usr/share/doc/python3.11/html/jquery.js"`)
		code, said, log := m.run("test")
		if code != 0 || strings.Contains(log, "install") || !strings.Contains(log, "apt-get download -qq postgresql-doc-15") {
			t.Errorf("exit %d, said %q, called %q", code, said, log)
		}
		for _, page := range firstPages {
			if _, err := os.Stat(filepath.Join(m.repo, ".cache/docs", page)); err != nil {
				t.Error(err)
			}
		}
		if to, err := os.Readlink(filepath.Join(m.repo, ".cache/docs/python3.11/html/jquery.js")); to != "/usr/share/javascript/jquery/jquery.js" {
			t.Errorf("link to %q, %v", to, err)
		}
		if code, said, _ := m.run("test"); code != 0 || said != "" {
			t.Errorf("second run: exit %d, said %q", code, said)
		}
	})
	t.Run("not to be had", func(t *testing.T) {
		m := newMachine(t)
		m.complete()
		m.testTools()
		if code, said, _ := m.run("test"); code != 1 || strings.Count(said, "\n") != 1 || !strings.Contains(said, "postgresql-doc-15") {
			t.Errorf("exit %d, said %q", code, said)
		}
	})
}

// mirror is what an install of packages brings: their programs.
const mirror = `for package; do
	case $package in
	mariadb-server-core) programs="mariadbd mariadb-install-db resolveip" ;;
	mariadb-client-core) programs=my_print_defaults ;;
	groff-base) programs=groff ;;
	man-db) programs=man ;;
	systemd) programs="systemd-analyze systemd-sysusers" ;;
	nodejs) programs=node ;;
	libxml2-utils) programs=xmllint ;;
	python3-xmlschema) programs=xmlschema-validate ;;
	wget | sqlite3 | chromium | zsh | fish | strace | git) programs=$package ;;
	*) programs= ;;
	esac
	for p in $programs; do printf '#!/bin/sh\n' >"$BIN/$p"; chmod +x "$BIN/$p"; done
done`

// Each program that is missing alone is installed with its package, and only it.
func TestMissingProgram(t *testing.T) {
	packages := map[string]string{
		"mariadbd": "mariadb-server-core", "mariadb-install-db": "mariadb-server-core", "resolveip": "mariadb-server-core",
		"my_print_defaults": "mariadb-client-core", "groff": "groff-base", "man": "man-db", "systemd-analyze": "systemd", "systemd-sysusers": "systemd",
		"node": "nodejs", "xmllint": "libxml2-utils", "xmlschema-validate": "python3-xmlschema",
	}
	for _, program := range testPrograms {
		t.Run(program, func(t *testing.T) {
			m := newTestMachine(t)
			m.debian(mirror)
			os.Remove(filepath.Join(m.path, program))
			code, said, log := m.run("test")
			want := packages[program]
			if want == "" {
				want = program
			}
			if code != 0 || !strings.Contains(log, "--no-install-recommends "+want+"\n") || said != "setup: installing "+want+"\n" {
				t.Errorf("exit %d, said %q, called %q", code, said, log)
			}
			if code, said, _ := m.run("test"); code != 0 || said != "" {
				t.Errorf("second run: exit %d, said %q", code, said)
			}
		})
	}
}

// A package that is installed without its programs is installed again; if that does not
// help, the script says so and fails.
func TestBrokenPackage(t *testing.T) {
	m := newTestMachine(t)
	os.Remove(filepath.Join(m.path, "my_print_defaults"))
	m.debian(`case "$*" in *--reinstall*) ` + mirror + ` ;; esac`)
	if code, said, log := m.run("test"); code != 0 || !strings.Contains(log, "--reinstall mariadb-client-core\n") {
		t.Errorf("exit %d, said %q, called %q", code, said, log)
	}
	os.Remove(filepath.Join(m.path, "my_print_defaults"))
	m.debian("")
	if code, said, _ := m.run("test"); code != 1 || !strings.Contains(said, "mariadb-client-core") || !strings.Contains(said, "not all of their programs") {
		t.Errorf("exit %d, said %q", code, said)
	}
}

// Other names of the same programs do as well.
func TestOtherNames(t *testing.T) {
	for name, c := range map[string]struct{ removed, added []string }{
		"old names":            {[]string{"mariadbd", "mariadb-install-db"}, []string{"mysqld", "mysql_install_db"}},
		"server not in PATH":   {[]string{"mariadbd"}, []string{"sbin/mariadbd"}},
		"chromium-browser":     {[]string{"chromium"}, []string{"chromium-browser"}},
		"google-chrome":        {[]string{"chromium"}, []string{"google-chrome"}},
		"google-chrome-stable": {[]string{"chromium"}, []string{"google-chrome-stable"}},
		"chrome":               {[]string{"chromium"}, []string{"chrome"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTestMachine(t)
			m.debian("")
			for _, program := range c.removed {
				os.Remove(filepath.Join(m.path, program))
			}
			for _, program := range c.added {
				m.stub(program, "")
			}
			if code, said, log := m.run("test"); code != 0 || said != "" || log != "" {
				t.Errorf("exit %d, said %q, called %q", code, said, log)
			}
		})
	}
}

// newTestMachine is a machine of root that has everything the tests need.
func newTestMachine(t *testing.T) *machine {
	m := newMachine(t)
	m.complete()
	m.testTools()
	m.root()
	for _, page := range firstPages {
		m.write(filepath.Join(m.docs, page), "page", 0o644)
	}
	return m
}

// promtool is taken out of its package: nothing is installed, and no server is started.
func TestPromtool(t *testing.T) {
	m := newTestMachine(t)
	os.Remove(filepath.Join(m.path, "promtool"))
	if code, said, _ := m.run("test"); code != 1 || strings.Count(said, "\n") != 1 || !strings.Contains(said, "promtool") {
		t.Errorf("without apt-get: exit %d, said %q", code, said)
	}
	m.stub("apt-get", `echo "apt-get $*" >>"$LOG"; [ "$1" != download ] || touch prometheus_1.0_amd64.deb`)
	m.stub("dpkg-deb", "")
	m.stub("tar", "echo '#!/bin/sh'")
	code, said, log := m.run("test")
	if code != 0 || said != "setup: unpacking promtool into .cache\n" || log != "apt-get update -qq\napt-get download -qq prometheus\n" {
		t.Errorf("exit %d, said %q, called %q", code, said, log)
	}
	if info, err := os.Stat(filepath.Join(m.repo, ".cache/promtool")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("%v, %v", info, err)
	}
	if code, said, _ := m.run("test"); code != 0 || said != "" {
		t.Errorf("second run: exit %d, said %q", code, said)
	}
}

func TestBenchmark(t *testing.T) {
	for name, c := range map[string]struct {
		install    string // what apt-get install does
		code       int
		said, left string
	}{
		"all":            {`for p; do case $p in nginx-light | wget2) touch "$BIN/${p%-light}" && chmod +x "$BIN/${p%-light}" ;; esac; done`, 0, "installing wget2", ""},
		"without Scrapy": {`for p; do case $p in *scrapy) echo not found; exit 100 ;; esac; done`, 0, "not found", "the benchmark leaves out scrapy"},
		"without nginx":  {`for p; do case $p in nginx*) echo not found; exit 100 ;; esac; done`, 1, "nginx-light failed", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTestMachine(t)
			m.debian(c.install)
			m.root()
			code, said, log := m.run("bench")
			if code != c.code || !strings.Contains(said, c.said) || !strings.Contains(said, c.left) || !strings.Contains(log, "nginx-light") {
				t.Errorf("exit %d, said %q, called %q", code, said, log)
			}
			if left := strings.Contains(said, "leaves out"); left != (c.left != "") {
				t.Errorf("said %q", said)
			}
		})
	}
}

// versitygw is built once, and again when tools/go.mod has another version.
func TestVersitygw(t *testing.T) {
	m := newTestMachine(t)
	m.write(filepath.Join(m.repo, "tools/go.mod"), "require github.com/versity/versitygw v1.9.0 // indirect\n", 0o644)
	m.stub("go", `[ "$1" = build ] || { echo go1.26.3; exit; }; echo "go $*" >>"$LOG"; echo >"$3"; chmod +x "$3"`)
	code, said, log := m.run("test")
	if code != 0 || said != "setup: building versitygw v1.9.0 into .cache\n" || !strings.Contains(log, "github.com/versity/versitygw/cmd/versitygw\n") {
		t.Errorf("exit %d, said %q, called %q", code, said, log)
	}
	if left, err := filepath.Glob(filepath.Join(m.repo, ".cache/versitygw*")); err != nil || len(left) != 1 || filepath.Base(left[0]) != "versitygw-v1.9.0" {
		t.Errorf("%q, %v", left, err)
	}
	if code, said, _ := m.run("test"); code != 0 || said != "" {
		t.Errorf("second run: exit %d, said %q", code, said)
	}
}

// The JavaScript packages are fetched once, compared with their sums, and unpacked.
func TestNpmPackages(t *testing.T) {
	m := newTestMachine(t)
	modules := filepath.Join(m.repo, ".cache/node_modules")
	if err := os.RemoveAll(modules); err != nil {
		t.Fatal(err)
	}
	if code, said, _ := m.run("test"); code != 1 || !strings.Contains(said, "missing: npm") {
		t.Errorf("without npm: exit %d, said %q", code, said)
	}
	m.stub("npm", `echo "npm $*" >>"$LOG"`)
	m.stub("tar", `echo "tar $*" >>"$LOG"`)
	m.stub("sha256sum", "cat; exit 1")
	if code, said, _ := m.run("test"); code != 1 || !strings.Contains(said, "hyparquet-1.31.5.tgz") || !strings.Contains(said, "another SHA-256") {
		t.Errorf("another archive: exit %d, said %q", code, said)
	}
	if _, err := os.Stat(filepath.Join(modules, "hyparquet")); !os.IsNotExist(err) {
		t.Errorf("another archive is unpacked: %v", err)
	}
	m.stub("sha256sum", "cat")
	code, said, log := m.run("test")
	if code != 0 || strings.Count(said, "\n") != 1 || !strings.Contains(log, " fzstd@0.1.1 ") || !strings.Contains(log, "\ntar -xzf fzstd-0.1.1.tgz --strip-components=1 -C package\n") {
		t.Errorf("exit %d, said %q, called %q", code, said, log)
	}
	for _, name := range npmPackages {
		if _, err := os.Stat(filepath.Join(modules, name)); err != nil {
			t.Error(err)
		}
	}
	if code, said, _ := m.run("test"); code != 0 || said != "" {
		t.Errorf("second run: exit %d, said %q", code, said)
	}
}

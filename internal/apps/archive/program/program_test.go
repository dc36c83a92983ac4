package program

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/ini"
	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/crawl"
	"hce/dc/internal/apps/archive/repository"
)

// run runs archive in this process.
func run(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, talk bytes.Buffer
	status = Command(t.Context(), &out, &talk).Main(args)
	return out.String(), talk.String(), status
}

// filled returns an archive with two versions of one page.
func filled(t *testing.T) (root string) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "archive")
	if _, talk, status := run(t, "init", root); status != 0 {
		t.Fatal(talk)
	}
	r, err := repository.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i, text := range []string{"one", "two\x00\xff"} {
		c, err := r.Begin(t.Context(), "example.org", time.Date(2026, 3, 1, 12+i, 0, 0, 0, archive.Zone))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"", "it's"} {
			if err := c.Add(repository.Page{URL: "https://example.org/" + name, MIMEType: "text/html", Title: "T\x1b[1m", Content: []byte(text)}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Commit(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestCommands is the contract of the sub-commands: exit status, and parts of both outputs.
func TestCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	root := filled(t)
	for _, c := range []struct {
		args   string
		status int
		out    string // part of stdout; "": stdout is empty
		says   string // part of stderr; "": stderr is empty
	}{
		{"ls", 0, "     1  example.org@2026-03-01T12:00:00\n     2  example.org@2026-03-01T13:00:00\n", ""},
		{"ls --json", 0, `"number": 2,`, ""},
		{"ls https://example.org/", 0, "  3  data.html\n", ""},
		{"ls https://example.org/ --json", 0, `"files": [`, ""},
		{"ls https://example.org/none", 2, "", "not found"},
		{"cat https://example.org/", 0, "two\x00\xff", ""},
		{"cat https://example.org/it's", 0, "two", ""},
		{"cat https://example.org/ --version example.org@2026-03-01T12:00:00", 0, "one", ""},
		{"cat https://example.org/ --file data.xml", 0, "<commitTag>example.org@2026-03-01T13:00:00</commitTag>", ""},
		{"cat https://example.org/ --file ../data.xml", 2, "", "is not valid"},
		{"cat https://example.org/ --version x", 2, "", "not found"},
		{"db query", 0, "example.org@2026-03-01T12:00:00  text/html  https://example.org/  T [1m\n", ""},
		{"db query --where commitTime>'2026-03-01T12:30:00' --order-by url --limit 1 --json", 0, `"url": "https://example.org/",`, "more match"},
		{"db query --where commitTime>'2026-03-01T12:30:00' --limit 2", 0, "https://example.org/  T [1m\n", ""},
		{"ls example.org", 0, "  3  data.html\n", ""},
		{"ls EXAMPLE.org:443/#top", 0, "  3  data.html\n", ""},
		{"cat example.org/it's", 0, "two", ""},
		{"ls ftp://example.org/", 2, "", "scheme ftp"},
		{"repair", 0, "", "from 2 versions; made the files of 0 domains again"},
		{"repair --json", 0, `"left": null`, "from 2 versions"},
		{"db query --where number=1", 2, "", "column `number` is not known"},
		{"db query --limit x", 2, "", "is not a whole number"},
		{"db check", 0, "", ""},
		{"db check --json", 0, "[]", ""},
		{"db recover", 0, "", "from 2 versions"},
		{"db", 2, "", ""},
		{"config get Crawler.depth", 0, "5\n", ""},
		{"config get Crawler.dept", 2, "", "did you mean depth?"},
		{"config get depth", 2, "", "is not SECTION.KEY"},
		{"config show", 0, "instances = 4\n", ""},
		{"crawler ftp://example.org/", 2, "", "scheme ftp"},
		{"crawler https://example.org/ --depth x", 2, "", "--depth"},
		{"crawler https://example.org/ --robots maybe", 2, "", "is not yes or no"},
		{"crawler https://example.org/ --allow-network x", 2, "", "not an address or a network"},
	} {
		out, talk, status := run(t, append(strings.Fields(c.args), "--root", root)...)
		if status != c.status || !strings.Contains(out, c.out) || (c.out == "") != (out == "") || !strings.Contains(talk, c.says) || (c.says == "") != (talk == "") && c.args != "db" {
			t.Errorf("archive %s: status %d, want %d\n%s\n%s", c.args, status, c.status, out, talk)
		}
	}
	for args, want := range map[string]string{"repair": "is no archive", "ls": "is no archive; make one with archive init", "db recover": "is no archive", "crawler https://example.org/": "is no archive"} {
		if _, talk, status := run(t, append(strings.Fields(args), "--root", t.TempDir())...); status != 2 || !strings.Contains(talk, want) {
			t.Errorf("archive %s without an archive: status %d, %s", args, status, talk)
		}
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "mine.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, talk, status := run(t, "init", other); status != 3 || !strings.Contains(talk, "mine.txt") {
		t.Errorf("init in a folder of others: status %d, %s", status, talk)
	}
	if _, talk, status := run(t, "init", root); status != 0 {
		t.Errorf("second init: status %d, %s", status, talk)
	}
}

func quiet(string, ...any) {}

// The built-in values are those of the file that is shipped; the file, the environment and options
// override them, in this order.
func TestPrecedence(t *testing.T) {
	t.Chdir(t.TempDir())
	builtIn, err := options{}.readSettings(quiet)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile("archive.ini", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	show := func(c crawl.Config) string { return fmt.Sprintf("%+v", c) }
	write(ini.Archive)
	shipped, err := options{}.readSettings(quiet)
	if err != nil || show(shipped.crawl) != show(builtIn.crawl) || shipped.root != builtIn.root || !reflect.DeepEqual(shipped.log, builtIn.log) || !reflect.DeepEqual(shipped.network, builtIn.network) || len(shipped.file.Unknown()) > 0 {
		t.Errorf("shipped %+v %+v, %v\nbuilt in %+v %+v", shipped.crawl, shipped.network, err, builtIn.crawl, builtIn.network)
	}
	for key := range strings.Lines(ini.Archive) {
		name, _, found := strings.Cut(key, " =")
		if found && !strings.HasPrefix(key, ";") && !slices.ContainsFunc([]string{"Archive", "Crawler", "Server", "Client"}, func(section string) bool { return shipped.file.Section(section).Given(name) }) && !strings.HasSuffix(strings.TrimSpace(key), "=") {
			t.Errorf("key %s has no effect", name)
		}
	}
	write("[Archive]\nroot = sub\nlog = stderr\n[Crawler]\ndepth = 1\ninterval = 60\ninstances = 2\nfilters = a, b\nrobots = no\nuser_agent = X/1\ndelay = 10\nallow_networks = 10.0.0.0/8\n")
	t.Setenv("DC_Crawler_instances", "7")
	s, err := options{}.readSettings(quiet)
	dir, _ := filepath.Abs(".")
	want := crawl.Config{Depth: 1, Interval: time.Minute, Instances: 7, Filters: []string{"a", "b"}, FilterDir: dir, UserAgent: "X/1", Delay: 10 * time.Millisecond, Networks: "10.0.0.0/8"}
	if err != nil || show(s.crawl) != show(want) || s.root != filepath.Join(dir, "sub") || s.log.File != "" {
		t.Errorf("%+v, %v, want %+v", s, err, want)
	}
	given := crawlOptions{"3", "0", "9", "c", "yes", "Y/2", "0", "127.0.0.1"}
	if err := given.applyTo(&s.crawl); err != nil {
		t.Fatal(err)
	}
	want = crawl.Config{Depth: 3, Instances: 9, Filters: []string{"c"}, FilterDir: dir, Robots: true, UserAgent: "Y/2", Networks: "127.0.0.1"}
	if show(s.crawl) != show(want) {
		t.Errorf("%+v, want %+v", s.crawl, want)
	}
	if s, err = (options{root: "elsewhere"}).readSettings(quiet); err != nil || s.root != filepath.Join(dir, "elsewhere") {
		t.Errorf("--root: %s, %v", s.root, err)
	}
	write("[Crawler]\ndepth = -1\n")
	if _, err = (options{}).readSettings(quiet); err == nil || !strings.Contains(err.Error(), "[Crawler] depth") {
		t.Errorf("wrong value: %v", err)
	}
}

// A file that is missing or cannot be read is reported, and the built-in values count.
func TestUnreadableFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("bad.ini", []byte("no ini file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"none.ini", "bad.ini", "."} {
		var said []string
		s, err := options{config: name}.readSettings(func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
		if err != nil || s.crawl.Depth != 5 || len(said) != 1 || !strings.Contains(said[0], "built-in values") {
			t.Errorf("%s: depth %d, %v, said %v", name, s.crawl.Depth, err, said)
		}
	}
}

// A second Ctrl-C is not needed: a command whose context is done ends.
func TestInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	root := filled(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, talk bytes.Buffer
	if status := Command(ctx, &out, &talk).Main([]string{"ls", "--root", root}); status != 4 || talk.String() != "archive: interrupted\n" {
		t.Errorf("status %d, %s", status, talk.String())
	}
}

// docs/archive.md names every sub-command and every key of the ini file, and its commands exist.
func TestDocument(t *testing.T) {
	raw, err := os.ReadFile("../../../../docs/archive.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for _, name := range []string{"init", "crawler", "ls", "cat", "db recover", "db check", "db query", "config show", "config get"} {
		if !strings.Contains(page, "`archive "+name) {
			t.Errorf("docs/archive.md does not name archive %s", name)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^(\w+) =`).FindAllStringSubmatch(ini.Archive, -1) {
		if !strings.Contains(page, "`"+m[1]+"`") {
			t.Errorf("docs/archive.md does not name the key %s", m[1])
		}
	}
	t.Chdir(t.TempDir())
	commands := regexp.MustCompile(`(?m)^    (?:bin/)?archive ([a-z].*)$`).FindAllStringSubmatch(page, -1)
	if len(commands) < 6 {
		t.Errorf("only %d commands", len(commands))
	}
	for _, c := range commands {
		var args []string
		for _, word := range regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(c[1], -1) {
			args = append(args, strings.Trim(word, `"`))
		}
		if args[0] == "init" || args[0] == "server" || args[0] == "client" || args[0] == "count" {
			continue
		}
		if _, talk, _ := run(t, append(args, "--root", t.TempDir())...); strings.Contains(talk, "is unknown") || strings.Contains(talk, "unknown flag") || strings.Contains(talk, "missing") {
			t.Errorf("archive %s: %s", c[1], talk)
		}
	}
}

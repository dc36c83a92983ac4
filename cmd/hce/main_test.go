package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

func TestMain(m *testing.M) {
	export.RowGroup = 20000 // of the child processes: about 200 pages
	clitest.Main(m, main)
}

const root = "https://example.org/"

// world is a daemon with one site of two pages and a failed URL.
type world struct {
	*storestest.Stores
	site, port, folder string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	stores := storestest.Open(t)
	w := &world{Stores: stores, site: stores.NewSite(root), port: stores.Port, folder: t.TempDir()}
	w.AddPage(w.site, root+"a.html", "The mill", "It works twice a day.")
	w.AddPage(w.site, root+"b.html", "The ferry", "It\x1b[31m leaves at noon.")
	w.AddFailed(w.site, root+"gone.html", 404, errormask.HTTP)
	return w
}

// hce runs a command against the daemon.
func (w *world) hce(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	return clitest.Run(t, w.folder, append(args, "--server", "127.0.0.1:"+w.port)...)
}

// TestCommands is the contract of the sub-commands: exit status, and parts of both outputs. The
// commands run in this order against one daemon.
func TestCommands(t *testing.T) {
	w := newWorld(t)
	clitest.Write(t, w.folder, "good.json", `{"urls":["https://filed.example/"],"properties":{"ROBOTS_META":"0"}}`)
	clitest.Write(t, w.folder, "bad.json", `{"urls":["filed.example"],"requestDelya":5,"filters":[{"pattern":"("}],"properties":{"HTTP_HEADRES":"x"}}`)
	for _, c := range []struct {
		args   string
		status int
		out    string // part of stdout; "": stdout is empty
		says   string // part of stderr; "": stderr is empty
	}{
		{"status", 0, "1 site, 1 active", ""},
		{"status --json", 0, `"pages": 2`, ""},
		{"top --once --interval 500ms", 0, "example.org/     ", ""},
		{"top --interval 500ms", 0, "HTTP_ERROR 1; slowest example.org 12 ms", ""},
		{"top --once --json --interval 500ms", 0, `"pages":2,"rate":0,`, ""},
		{"top --once --interval 500ms --show-request", 0, "hce top  the daemon at 127.0.0.1:", `["SITE_FIND",{"criterions":`},
		{"top --interval 5", 2, "", "write 5ms or 5s"},
		{"top --interval 0s", 2, "", "500ms to 1h"},
		{"top --admin none.ini", 2, "", "none.ini"},
		{"site ls", 0, "active", ""},
		{"site ls --json", 0, `"url": "https://example.org/"`, ""},
		{"site show example.org", 0, "root         https://example.org/\n", ""},
		{"site show " + wire.Md5(root) + " --json", 0, `"id": "` + wire.Md5(root), ""},
		{"site show exmple.org", 2, "", "did you mean https://example.org/?"},
		{"site show https://other.net/", 2, "", "is not known in the daemon at 127.0.0.1:"},
		{"site shw x", 2, "", "did you mean show?"},

		{"site new https://new.example/ --depth 2 --delay 2s --max-pages 9 --property ROBOTS_META=0 --name mine", 0, "mine\n", ""},
		{"site show mine --json", 0, `"requestDelay": 2000`, ""},
		{"site new https://new.example/ --name mine", 2, "", "exists already"},
		{"site new new.example", 2, "", "did you mean https://new.example/ or http://new.example/?"},
		{"site new https://a.example/ --property ROBOT_META=0", 2, "", "did you mean ROBOTS_META?"},
		{"site new https://a.example/ --exclude re:(", 2, "", "no regular expression"},
		{"site new https://a.example/ --delay 5", 2, "", "write 5ms or 5s"},
		{"site new https://a.example/ --set maxerrors=5", 2, "", "did you mean maxErrors?"},
		{"site new https://a.example/ --set maxErrors=many", 2, "", "is not a number"},
		{"site new https://a.example/ --scope hosts", 2, "", "did you mean host?"},
		{"site new https://a.example/ --depth x", 2, "", `--depth "x" is not a number`},
		{"site new", 2, "", "give a URL"},
		{"site new --file good.json", 0, wire.Md5("https://filed.example/"), ""},
		{"site new --file bad.json", 2, "", "requestDelya is unknown; did you mean requestDelay?"},
		{"site new --file none.json", 2, "", "none.json"},

		{"site edit mine --delay 3s --property HTTP_REDIRECTS_MAX=2", 0, "", ""},
		{"site show mine", 0, "HTTP_REDIRECTS_MAX=2", ""},
		{"site show mine", 0, "ROBOTS_META=0", ""},
		{"site edit mine --unset ROBOTS_META", 0, "", ""},
		{"site edit mine --unset ROBOTS_META", 2, "", "the site has no such property"},
		{"site edit mine --exclude *.zip", 0, "", ""},
		{"site show mine", 0, "exclude", ""},
		{"site edit mine", 2, "", "nothing to change"},
		{"site pause mine", 0, "", ""},
		{"site show mine", 0, "state        paused", ""},
		{"site resume mine", 0, "", ""},
		{"site show mine", 0, "state        active", ""},
		{"site rm mine", 2, "", "confirm with --yes"},
		{"site rm mine --compact-raw --yes", 2, "", "nothing was deleted. On the machine of the daemon run: db-task --compact-raw"},
		{"site rm", 2, "", "argument SITE is missing"},
		{"site rm mine --yes", 0, "", "deleted site mine"},
		{"site show mine", 2, "", "is not known"},

		{"url ls example.org", 0, "processed   200", ""},
		{"url ls example.org --failed", 0, "https://example.org/gone.html  HTTP_ERROR", ""},
		{"url ls example.org --status proccessed", 2, "", "did you mean processed?"},
		{"url ls example.org --json --limit 1", 0, `{"url":`, "only the first 1"},
		{"url ls example.org --where Foo=1", 2, "STATUS", "column `Foo` is not known"},
		{"url show example.org/gone.html", 0, "error        HTTP_ERROR: the server answered", ""},
		{"url show https://example.org/a.html --json", 0, `"status": 7`, ""},
		{"url show https://example.org/c.html", 2, "", "did you mean https://example.org/a.html?"},
		{"url add example.org https://example.org/x.html", 0, "", "added 1 URL"},
		{"url add example.org https://example.org/x.html", 2, "", "is known already"},
		{"url add example.org x.html", 2, "", "has no scheme"},
		{"url rm example.org https://example.org/x.html", 0, "", "deleted 1 URL"},
		{"url rm example.org https://example.org/x.html", 2, "", "is not known"},

		{"page example.org/a.html", 0, "title     The mill\n", ""},
		{"page example.org/a.html --text", 0, "It works twice a day.\n", ""},
		{"page example.org/a.html --markdown", 0, "# The mill\n\nIt works", ""},
		{"page example.org/a.html --html", 0, "<title>The mill</title>", ""},
		{"page example.org/a.html --headers", 0, "Content-Type: text/html\n", ""},
		{"page example.org/a.html --json", 0, `"title":"The mill"`, ""},
		{"page example.org/a.html --html --text", 2, "", "choose one of"},
		{"page example.org/gone.html", 2, "", "HTTP code 404 HTTP_ERROR"},

		{"export example.org", 0, `"title":"The mill"`, ""},
		{"export example.org --format csv --fields url,title", 0, "url,title\n", ""},
		{"export example.org --format sitemap", 0, "<loc>https://example.org/a.html</loc>", ""},
		{"export example.org --format jsonll", 2, "", "did you mean jsonl?"},
		{"export example.org --fields titles", 2, "", "did you mean title?"},
		{"export example.org --fields url,tag:", 2, "", "tag:NAME for a tag of a template"},
		{"export example.org --format csv --fields url,tag:title", 0, "url,tag:title\n", ""},
		{"export example.org --format md", 2, "", "give it with --out DIR"},
		{"export example.org --format wacz", 2, "", "does not write to a pipe"},
		{"export example.org --format sitemap --fields url", 2, "", "--fields is for jsonl, csv and parquet"},
		{"export example.org --since yesterday", 2, "", "is not a date such as 2026-01-31"},
		{"export example.org --since 2026-03-04 --out pages.jsonl", 0, "", "wrote 2 pages to pages.jsonl"},
		{"export example.org --out pages.jsonl", 2, "", "it exists"},
		{"export example.org --out pages.jsonl --force", 0, "", "wrote 2 pages"},
		{"export example.org --since 2027-01-01 --out none.jsonl", 0, "", "wrote 0 pages"},
		{"export example.org --all --fields url,errors", 0, `"errors":["HTTP_ERROR"]`, ""},
		{"export example.org --out pages.csv", 0, "", "wrote 2 pages to pages.csv"},
		{"export example.org --out tree/", 0, "", "wrote 2 pages to tree/ as md"},
		{"export example.org --out -", 0, `"title":"The mill"`, ""},
		{"export example.org --format csv --out - --fields url", 0, "url\n", ""},
		{"export example.org --format csv --out pages.parquet", 2, "", "format parquet, and --format is csv"},
		{"export example.org --out pages.txt", 2, "", "name it with one of .warc"},
		{"export example.org --raw", 2, "", "--raw is for csv"},
		{"export example.org --limit 5", 2, "", "head -n N"},
		{"export example.org --output x.csv", 2, "", "use --out FILE"},
		{"export", 2, "", "take all of them with --all-sites"},
		{"export example.org https://example.org/", 2, "", "given twice"},
		{"export example.org --all-sites", 2, "", "leave out the option"},
		{"export example.org --format warc", 0, "WARC-Type: response\r\n", ""},
		{"export example.org --format warc --out pages.warc.gz", 0, "", "wrote 2 pages to pages.warc.gz"},
		{"import warc pages.warc.gz", 0, "0 pages new, 0 further versions, 2 stored before, of 7 records", ""},
		{"import warc pages.warc.gz --site copy", 0, "copy: 2 pages new", "created site copy (https://example.org/)"},
		{"url ls copy", 0, "crawled     200", ""},
		{"import warc pages.warc.gz --site copy --json", 0, `"known": 2`, ""},
		{"import warc pages.warc.gz --site other.example", 2, "", "is not known"},
		{"import warc pages.jsonl", 2, "", "pages.jsonl: record at byte 0: no header of a WARC record"},
		{"import warc none.warc", 2, "", "none.warc"},
		{"import warc", 2, "", "argument FILE... is missing"},
		{"import wrc x", 2, "", "did you mean warc?"},
		{"export example.org copy --format csv --fields site,url", 0, "copy,https://example.org/a.html\n", ""},
		{"export --all-sites", 0, `"site":"copy"`, ""},
		{"export --all-sites --out all.csv --json", 0, `"pages": 4`, ""},
		{"export example.org --where Nothing=1", 2, "", "column `Nothing` is not known"},

		{"site recrawl example.org --failed", 0, "", "1 URL will be fetched again"},
		{"url ls example.org --status new", 0, "gone.html", ""},
		{"status --show-request", 0, "waiting", `["SITE_FIND",{"criterions":`},
		{"explain https://example.org/a.html", 2, "", "a daemon runs at"},
		{"explain https://example.org/a.html --ini x.ini --allow-network 127.0.0.0/8", 2, "", "set AllowedNetworks in x.ini"},
		{"crawl htps://example.org/", 2, "", "did you mean https?"},
		{"crawl https://example.org/ --depth 3", 2, "", "exists with other settings"},
		{"crawl https://x.example/ --allow-network 127.0.0.0/8", 2, "", "without a running daemon"},
		{"crawl https://x.example/ --out none/x.csv", 2, "", "the folder none does not exist"},
		{"crawl https://x.example/ --out x.doc", 2, "", "means no format"},
		{"crawl https://x.example/ --out x.csv --format md", 2, "", "writes a folder"},
		{"crawl https://x.example/ --format csv", 2, "", "are for --out FILE"},
		{"crawl https://x.example/ --limit 5", 2, "", "use --max-pages NUMBER"},
		{"crawl https://x.example/ --rate 5", 2, "", "use --delay TIME"},
		{"crawl https://x.example/ -O x.csv", 2, "", "use --out FILE"},
		{"crawl https://x.example/ --markdown", 2, "", "--markdown is for --out"},
		{"crawl", 2, "", "argument URL... is missing"},
	} {
		stdout, stderr, status := w.hce(t, strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(stdout, c.out) || (c.out == "") != (stdout == "") || !strings.Contains(stderr, c.says) || (c.says == "") != (stderr == "") {
			t.Errorf("hce %s\nstatus %d, want %d\nstdout %q, want %q\nstderr %q, want %q", c.args, status, c.status, stdout, c.out, stderr, c.says)
		}
	}
}

// A refused file names every mistake, and changes nothing.
func TestEveryMistakeIsNamed(t *testing.T) {
	w := newWorld(t)
	clitest.Write(t, w.folder, "bad.json", `{"urls":["filed.example"],"requestDelya":5,"filters":[{"pattern":"("}],"properties":{"HTTP_HEADRES":"x"}}`)
	_, stderr, status := w.hce(t, "site", "new", "-f", "bad.json")
	for _, want := range []string{"did you mean requestDelay?", `Site.urls[0] = "filed.example" has no scheme; did you mean https://filed.example/?`, `Site.filters[0].pattern = "("`, "did you mean HTTP_HEADERS?"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q in\n%s", want, stderr)
		}
	}
	if status != 2 || w.Asked[wire.SiteNew] != 1 { // one by newWorld
		t.Errorf("status %d, %d SITE_NEW", status, w.Asked[wire.SiteNew])
	}
}

// Versions of a page are listed with their numbers, and each can be printed.
func TestVersions(t *testing.T) {
	w := newWorld(t)
	w.AddVersion(w.site, root+"a.html", "<p>A new mill")
	for _, c := range []struct {
		args   string
		status int
		out    string
		says   string
	}{
		{"url history example.org/a.html", 0, "VERSION  STORED", ""},
		{"url history example.org/a.html --json", 0, `"version": 2`, ""},
		{"url history example.org/b.html", 0, "\n      1  ", ""},
		{"url history example.org/gone.html", 2, "", "HTTP code 404"},
		{"page example.org/a.html --version 1", 0, "<title>The mill</title>", ""},
		{"page example.org/a.html --version 2 --html", 0, "<p>A new mill", ""},
		{"page example.org/a.html --version 1 --headers", 0, "Content-Type: text/html\n", ""},
		{"page example.org/a.html --version 2 --headers", 2, "", "has no stored headers"},
		{"page example.org/a.html --version 3", 2, "", "has 2 versions; list them with: hce url history"},
		{"page example.org/a.html --version 0", 2, "", `--version "0" is not a number`},
		{"page example.org/a.html --version 1 --text", 2, "", "only the newest version is processed"},
		{"page example.org/gone.html --version 1", 2, "", "HTTP code 404"},
	} {
		stdout, stderr, status := w.hce(t, strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(stdout, c.out) || (c.out == "") != (stdout == "") || !strings.Contains(stderr, c.says) || (c.says == "") != (stderr == "") {
			t.Errorf("hce %s\nstatus %d, want %d\nstdout %q, want %q\nstderr %q, want %q", c.args, status, c.status, stdout, c.out, stderr, c.says)
		}
	}
}

// Text of a site cannot control the terminal.
func TestControlCharacters(t *testing.T) {
	w := newWorld(t)
	w.AddPage(w.site, root+"evil.html", "\x1b]0;owned\x07 title", "text")
	for _, args := range [][]string{{"page", "example.org/evil.html"}, {"url", "ls", "example.org"}, {"site", "show", "example.org"}} {
		if stdout, _, _ := w.hce(t, args...); strings.ContainsAny(strings.SplitN(stdout, "\n\n", 2)[0], "\x1b\x07") {
			t.Errorf("%v prints %q", args, stdout)
		}
	}
}

// A table or JSON that cannot be written is a failure of the machine.
func TestOutputOnAFullDisk(t *testing.T) {
	w := newWorld(t)
	for _, args := range []string{"status", "site ls", "site show " + w.site, "url ls " + w.site, "url show " + root + "a.html", "url history " + root + "a.html", "page " + root + "a.html", "doctor", "status --json"} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		c := clitest.Command(t, w.folder, append(strings.Fields(args), "--server", "127.0.0.1:"+w.port)...)
		var stderr strings.Builder
		c.Stdout, c.Stderr = full, &stderr
		_ = c.Run() // its status is looked at
		full.Close()
		if status := c.ProcessState.ExitCode(); status != 3 || !strings.Contains(stderr.String(), "no space left on device") {
			t.Errorf("%s: status %d, %s", args, status, stderr.String())
		}
	}
}

// Without a daemon: a daemon that was named is a failure, else hce looks into its folder.
func TestNoDaemon(t *testing.T) {
	folder := t.TempDir()
	for args, want := range map[string]struct {
		status int
		says   string
	}{
		"site ls --server 127.0.0.1:1":          {3, "cannot reach the daemon at 127.0.0.1:1"},
		"site ls --server nonsense":             {2, "is not HOST:PORT"},
		"site ls --data none":                   {3, "the folder none has no crawl yet; start with: hce crawl URL"},
		"site ls --data x --server 127.0.0.1:1": {2, "does not go with"},
		"site ls --config none.ini":             {2, "none.ini"},
	} {
		stdout, stderr, status := clitest.Run(t, folder, strings.Fields(args)...)
		if status != want.status || stdout != "" || !strings.Contains(stderr, want.says) {
			t.Errorf("%s: status %d, %q, %q", args, status, stdout, stderr)
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("files were created: %v, %v", entries, err)
	}
}

// The operations of --show-request are documented ones: dc-client accepts each of them.
func TestShownRequestsAreOperations(t *testing.T) {
	w := newWorld(t)
	shown := 0
	for _, args := range []string{"site show example.org", "url ls example.org", "page example.org/a.html", "export example.org", "export example.org --format warc --out a.warc", "import warc a.warc --site other", "site pause example.org", "site recrawl example.org", "site rm example.org --yes"} {
		_, stderr, _ := w.hce(t, strings.Fields(args+" --show-request")...)
		for line := range strings.Lines(stderr) {
			if !strings.HasPrefix(line, "[") {
				continue
			}
			var call wire.Call
			if err := json.Unmarshal([]byte(line), &call); err != nil || !call.Op.Client() {
				t.Errorf("%s: %s: %v", args, line, err)
			}
			shown++
		}
	}
	if shown < 15 {
		t.Errorf("only %d operations were shown", shown)
	}
}

func TestDoctor(t *testing.T) {
	w := newWorld(t)
	stdout, _, status := w.hce(t, "doctor", "--json")
	var found []struct{ Check, State, Text, Remedy string }
	if err := json.Unmarshal([]byte(stdout), &found); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	states := map[string]string{}
	for _, f := range found {
		states[f.Check] = f.State
		if f.State == "fault" && f.Remedy == "" {
			t.Errorf("%s has no remedy: %s", f.Check, f.Text)
		}
	}
	// The test binary has no programs next to it.
	if states["programs"] != "fault" || states["daemon"] != "ok" || states["clock"] != "ok" || status != 1 {
		t.Errorf("status %d, %v", status, states)
	}
}

// A page that a recrawl found unchanged is exported with the contents that it has.
func TestExportOfUnchangedPages(t *testing.T) {
	w := newWorld(t)
	w.NotModified(w.site, root+"a.html")
	for _, format := range export.Names() {
		out := filepath.Join(w.folder, "out."+format)
		if _, stderr, status := w.hce(t, "export", "example.org", "--format", format, "--out", out); status != 0 || !strings.Contains(stderr, "wrote 2 pages") {
			t.Errorf("%s: status %d, %s", format, status, stderr)
		}
	}
}

func TestExportOfAFolder(t *testing.T) {
	w := newWorld(t)
	if _, stderr, status := w.hce(t, "export", "example.org", "--format", "md", "--out", "out"); status != 0 {
		t.Fatal(stderr)
	}
	if found, err := filepath.Glob(filepath.Join(w.folder, "out", "example.org", "*.md")); err != nil || len(found) != 2 {
		t.Errorf("%q %v", found, err)
	}
}

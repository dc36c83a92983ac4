package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	siteserver "hce/dc/examples/siteserver/site"
)

// The benchmark starts itself as the floor and as Colly.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && runsAlone[os.Args[1]] != nil {
		os.Exit(runsAlone[os.Args[1]](os.Args[1:]))
	}
	os.Exit(m.Run())
}

// smallSite serves a few pages that link to each other with fragments, and a picture. It logs
// like nginx.
func smallSite(t *testing.T, pages int) server {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range pages {
		write(fmt.Sprintf("p%d.html", i), fmt.Sprintf(`<title>Page %d</title><p>Some text.<a href="p%d.html#top">next</a><img src="p.png">`, i, (i+1)%pages))
	}
	write("index.html", `<title>Start</title><a href="p0.html">first</a>`)
	write("p.png", "picture")
	log, err := os.Create(filepath.Join(t.TempDir(), "requests"))
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(siteserver.Handler(siteserver.Options{Dir: dir, Log: log}))
	t.Cleanup(func() {
		web.Close()
		log.Close()
	})
	root, err := url.Parse(web.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	return server{root: root, log: log.Name()}
}

// All kinds of programs that need no installation find the same pages. It runs the programs
// in ../bin, which make build makes.
func TestSmallSite(t *testing.T) {
	const pages = 12
	web := smallSite(t, pages-1) // and the index
	var talk bytes.Buffer
	o := options{runs: 2, programs: []string{"floor", "colly", "dc-stored-sqlite-4", "dc-processed-sqlite-1"},
		bin: "../bin", ini: "../ini", data: t.TempDir(), out: &talk, talk: &talk}
	results, err := o.runAll(t.Context(), site{name: "small", process: true}, web, o.choosePrograms())
	if err != nil || len(results) != len(o.programs) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for _, r := range results {
		if r.err != nil {
			t.Errorf("%s: %v", r.program, r.err)
		} else if r.pages != pages || r.seconds <= 0 || r.cpu < 0 || r.memory <= 0 || r.note != "" {
			t.Errorf("%+v", r)
		}
	}
	if left, err := os.ReadDir(o.data); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// An export is measured and checked.
func TestExportSite(t *testing.T) {
	var out, talk bytes.Buffer
	o := options{bin: "../bin", data: t.TempDir(), programs: []string{"sqlite"}, out: &out, talk: &talk}
	if err := exportSite(t.Context(), o, 1000); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "; 1000 lines, none twice, none missing") || strings.Contains(out.String(), "mariadb") {
		t.Errorf("%s\n%s", out.String(), talk.String())
	}
	if left, err := os.ReadDir(o.data); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestFailedRun(t *testing.T) {
	web := smallSite(t, 1)
	o := options{runs: 1, data: t.TempDir(), talk: &bytes.Buffer{}}
	t.Setenv("PATH", t.TempDir()) // wget2 is missing
	results, err := o.runAll(t.Context(), site{name: "small"}, web, []program{{name: "wget2", crawl: runWget2}})
	if err != nil || len(results) != 1 || results[0].err == nil {
		t.Errorf("%+v, %v", results, err)
	}
}

func TestReport(t *testing.T) {
	var out bytes.Buffer
	err := printReport(&out, []result{
		{site: "one", program: "floor", pages: 100, requests: 110, seconds: 0.5, cpu: 100 * time.Millisecond, memory: 14e6},
		{site: "one", program: "dc-stored-sqlite-4", pages: 100, requests: 111, seconds: 1, cpu: 200 * time.Millisecond, memory: 90e6},
		{site: "two", program: "floor", pages: 100, requests: 110, seconds: 1, cpu: 100 * time.Millisecond, memory: 14e6},
		{site: "two", program: "wget2", err: errors.New("wget2: exit status 1\nmore")},
		{site: "two", program: "dc-stored-sqlite-4", pages: 99, requests: 111, seconds: 8.25, cpu: 200 * time.Millisecond, memory: 90e6, note: "99 pages; the floor has 100. "},
	}, []string{"machine: small"})
	want := `
              ratio of pages/s   mean    one    two
    dc-stored-sqlite-4 / floor  0.245  0.500  0.120

  site             program  pages  requests  seconds  pages/s  CPU ms/page  memory MB
   one               floor    100       110     0.50    200.0        1.000         14
   one  dc-stored-sqlite-4    100       111     1.00    100.0        2.000         90
   two               floor    100       110     1.00    100.0        1.000         14
   two               wget2                                                             failed: wget2: exit status 1
   two  dc-stored-sqlite-4     99       111     8.25     12.0        2.020         90  99 pages; the floor has 100.

machine: small
`
	trim := func(text string) string {
		var lines []string
		for line := range strings.Lines(text) {
			lines = append(lines, strings.TrimSpace(line))
		}
		return strings.TrimSpace(strings.Join(lines, "\n"))
	}
	if err != nil || trim(out.String()) != trim(want) {
		t.Errorf("%v, got\n%s", err, out.String())
	}
}

func TestTraffic(t *testing.T) {
	log := filepath.Join(t.TempDir(), "requests")
	old := `{"start":1,"path":"/old.html","code":200}` + "\n"
	text := old + `{"start":5000000000,"end":5000000000,"path":"/","code":200,"bytes":9}
{"start":6000000000,"path":"/a.html?q=1","code":200}
{"start":6000000000,"path":"/a.html?q=1","code":200}
{"start":6000000000,"path":"/gone.html","code":404}
{"start":6000000000,"path":"/p.png","code":200}
`
	if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := server{log: log}.trafficSince(int64(len(old)))
	if err != nil || got != (traffic{requests: 5, pages: 2, first: time.Unix(5, 0)}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSites(t *testing.T) {
	dir := t.TempDir()
	got, err := findSites([]string{dir}, []string{dir})
	if err != nil || len(got) != 1 || got[0] != (site{dir, dir, true}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, name := range []string{"nothing", dir + "/nothing"} {
		if _, err := findSites([]string{name}, nil); err == nil {
			t.Errorf("no error for %s", name)
		}
	}
}

func TestMachine(t *testing.T) {
	facts := describeMachine(t.TempDir())
	if text := strings.Join(facts, "\n"); !strings.Contains(text, "cores") || !strings.Contains(text, "file system of the data: ") {
		t.Error(text)
	}
}

// A site that grows again names new URLs, as many as it may; then known ones.
func TestGrowingSite(t *testing.T) {
	var g growingSite
	for _, limit := range []int{linksToGrow + 1, 3 * linksToGrow} {
		g.raiseLimit(limit)
		for range 4 {
			links := g.pageLinks(0)
			if len(links) < linksOfPage {
				t.Errorf("%d links", len(links))
			}
			for _, n := range links {
				if n >= g.named || g.named > limit {
					t.Errorf("link to %d of %d, limit %d", n, g.named, limit)
				}
			}
		}
		if g.named != limit {
			t.Errorf("%d URLs, expected %d", g.named, limit)
		}
	}
}

func TestPartOfASample(t *testing.T) {
	stack := func(functions ...string) *pprof.Sample {
		s := &pprof.Sample{}
		for _, name := range functions {
			s.Location = append(s.Location, &pprof.Location{Line: []pprof.Line{{Function: &pprof.Function{Name: name}}}})
		}
		return s
	}
	for want, sample := range map[string]*pprof.Sample{
		"storage/sqldb": stack("runtime.cgocall", "database/sql.(*DB).Query", "hce/dc/internal/storage/sqldb.(*Tx).Query", "hce/dc/internal/crawl.Run"),
		"crawl":         stack("hce/dc/internal/crawl.(*Job).Do.func1"),
		"wire":          stack("slices.Sort", "hce/dc/internal/wire.(*object).end.Keys[go.shape.map[string]encoding/json.RawMessage].func1"),
		"runtime":       stack("runtime.gcBgMarkWorker", "runtime.mcall"),
	} {
		if got := innermostPackage(sample); got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}

// The tables of a profile replace the older ones between the marks, and nothing else.
func TestReplaceTables(t *testing.T) {
	document := filepath.Join(t.TempDir(), "page.md")
	write := func(text string) {
		if err := os.WriteFile(document, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("# Page\n" + tablesBegin + "old\n" + tablesEnd + "end\n")
	if err := replaceTables(document, "\n| new |\n"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(document)
	if want := "# Page\n" + tablesBegin + "| new |\n\n" + tablesEnd + "end\n"; err != nil || string(text) != want {
		t.Errorf("%q, %v; want %q", text, err, want)
	}
	write("# Page\n" + tablesEnd + tablesBegin)
	if err := replaceTables(document, "| new |\n"); err == nil {
		t.Error("marks in the wrong order are accepted")
	}
}

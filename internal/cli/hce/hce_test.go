package hce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/follow"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/cli/strict"
	"hce/dc/internal/files"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

func TestExitStatus(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"nothing":            {nil, command.ExitDone},
		"errors":             {command.ErrWithErrors, command.ExitErrors},
		"a mistake":          {command.Refuse("no %s", "URL"), command.ExitRefused},
		"of the service":     {fmt.Errorf("x: %w", &service.Refusal{Op: wire.SiteNew}), command.ExitRefused},
		"problems":           {strict.Error{{Field: "x"}}, command.ExitRefused},
		"an existing output": {fmt.Errorf("open: %w", export.ErrExists), command.ExitRefused},
		"no daemon":          {fmt.Errorf("x: %w", service.ErrUnreachable), command.ExitFailed},
		"a full disk":        {errors.New("no space left on device"), command.ExitFailed},
		"Ctrl-C":             {fmt.Errorf("start: %w", context.Canceled), command.ExitInterrupted},
	} {
		if got := exitOf(c.err); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestSince(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2026-01-31": "2026-01-31 00:00:00", "2026-01-31T10:00:00+02:00": "2026-01-31 08:00:00", "2026-01-31 10:11": "2026-01-31 10:11:00",
		"12h": "2026-03-10 00:00:00", "7d": "2026-03-03 12:00:00", "2w": "2026-02-24 12:00:00", "90m": "2026-03-10 10:30:00",
		"yesterday": "", "7": "", "-7d": "", "2026-13-01": "",
	} {
		at, err := parseSince("--since", text, now)
		if want == "" {
			if err == nil {
				t.Errorf("%s is %s", text, at)
			}
			continue
		}
		if got := at.UTC().Format(time.DateTime); err != nil || got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}

func TestDelay(t *testing.T) {
	for text, want := range map[string]string{"500ms": "500", "2s": "2000", "1.5s": "1500", "0s": "0", "0": "0", "5": "write 5ms or 5s", "1.5": "write 1.5ms", "-1s": "is not a time", "25h": "is not a time", "x": "is not a time", "": "is not a time"} {
		n, err := parseDelay(text)
		got := fmt.Sprint(n)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// The same options give no difference, and each other option is named.
func TestDifferences(t *testing.T) {
	stores := storestest.Open(t)
	s := &session{ctx: t.Context(), service: stores, out: io.Discard, talk: io.Discard}
	roots := []string{"https://example.org/", "https://example.net/a"}
	first := settings{depth: "3", delay: "2s", maxPages: "50", exclude: []string{"*.zip"}, include: []string{"/a/**", "re:b+"}, properties: []string{"ROBOTS_META=0"}, fields: []string{"maxErrors=7", "recrawlDate=NOW()"}}
	object, err := first.newSite(roots)
	if err == nil {
		err = s.askService(wire.SiteNew, object, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*settings)
		roots  []string
		want   string // "": no difference
	}{
		"the same":  {func(*settings) {}, roots, ""},
		"depth":     {func(o *settings) { o.depth = "4" }, roots, "filters"},
		"scope":     {func(o *settings) { o.scope = "domain" }, roots, "filters"},
		"exclude":   {func(o *settings) { o.exclude = nil }, roots, "filters"},
		"delay":     {func(o *settings) { o.delay = "" }, roots, "delay in ms is 2000, not 500"},
		"max-pages": {func(o *settings) { o.maxPages = "" }, roots, "max-pages is 50, not 0"},
		"browser":   {func(o *settings) { o.browser = true }, roots, "fetchType is 1, not 2"},
		"property":  {func(o *settings) { o.properties = []string{"ROBOTS_META=1"} }, roots, `property ROBOTS_META is "0", not "1"`},
		"a URL":     {func(*settings) {}, roots[:1], "URLs"},
		"a field":   {func(o *settings) { o.fields = []string{"maxErrors=8"} }, roots, "maxErrors is 7, not 8"},
	} {
		o := first
		c.change(&o)
		object, err := o.newSite(c.roots)
		if err != nil {
			t.Fatal(err)
		}
		site, found, err := s.siteStatus(wire.Md5(roots[0]))
		if err != nil || !found {
			t.Fatal(found, err)
		}
		list := strings.Join(o.listDifferences(site, object), "; ")
		if (list == "") != (c.want == "") || !strings.Contains(list, c.want) {
			t.Errorf("%s: %q", name, list)
		}
	}
}

// Progress over a minute of counters, as an owner of the clock sees it.
func TestProgress(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f := &follower{hosts: hostTimes{}}
	for i := range 61 {
		n := int64(i)
		site := wire.Site{Contents: 2 * n, Errors: n, NewURLs: 240}
		f.addLook(follow.Look{Site: site, Done: 3 * n, At: start.Add(time.Duration(i) * time.Second)})
	}
	for _, row := range []wire.URL{
		{URL: "https://fast.example/", CrawlingTime: 10}, {URL: "https://slow.example/", CrawlingTime: 900}, {URL: "https://slow.example/b", CrawlingTime: 700}, {URL: "https://fast.example/b", CrawlingTime: 1500},
	} {
		f.hosts.addPage(row)
	}
	f.now.SlowHost, f.now.SlowTime = f.hosts.slowestHost()
	f.now.Causes = countCauses([]wire.URL{{ErrorMask: errormask.HTTP}, {ErrorMask: errormask.HTTP | errormask.Forbidden}, {ErrorMask: errormask.Timeout}})
	want := "180 done, 120 pages, 240 waiting, 3.0/s, 60 errors (FETCH_FORBIDDEN 1, HTTP_ERROR 1, REQUEST_TIMEOUT 1), slowest slow.example 800ms, about 1m0s left"
	if got := f.now.describeLine(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := (progress{Look: follow.Look{Site: wire.Site{NewURLs: 1}, Why: "disk full"}, Rate: 1}).describeLine(); !strings.HasSuffix(got, ", 1.0/s, waiting because: disk full") {
		t.Error(got)
	}
}

// URLs that are asked again later are shown, and bound the time that is left.
func TestProgressOfPauses(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	paused := follow.Paused{URLs: 3, Causes: map[string]int64{"503": 2, "cut": 1}, Next: now.Add(4 * time.Second), Last: now.Add(40 * time.Second)}
	for _, c := range []struct {
		name    string
		waiting int64
		rate    float64
		want    string
	}{
		{"only they", 3, 0, "3 waiting, 0.0/s, 3 asked again later (503: 2, cut: 1), the next in 4s, about 40s left"},
		{"others take longer", 103, 1, "the next in 4s, about 1m40s left"},
		{"others of an unknown rate", 103, 0, "the next in 4s"},
	} {
		p := progress{Look: follow.Look{At: now, Site: wire.Site{NewURLs: c.waiting}, Paused: paused}, Rate: c.rate}
		if got := p.describeLine(); !strings.HasSuffix(got, strings.Replace(c.want, "1m40s", "2m0s", 1)) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

func TestRetryText(t *testing.T) {
	for want, row := range map[string]wire.URL{
		"": {Retries: 0},
		"given up after 1 request; the last cause: reset":                            {Retries: 1, RetryCause: "reset"},
		"not before 2026-01-01 00:00:05: asked in vain 2 times, the last cause: 503": {Retries: 2, RetryCause: "503", RetryDate: "2026-01-01 00:00:05"},
		"not before 2026-01-01 00:00:05: its host has a pause":                       {RetryCause: "host", RetryDate: "2026-01-01 00:00:05"},
	} {
		if got := retryText(row); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSummaryText(t *testing.T) {
	base := summary{Site: "s", Root: "https://example.org/\x1b", URLs: 3, Pages: 1, Bytes: 12345, Seconds: 2.5, State: "active"}
	with := func(change func(*summary)) summary {
		s := base
		change(&s)
		return s
	}
	for want, s := range map[string]summary{
		"https://example.org/: complete\n  3 URLs, 1 page, 12.3 kB in 2.5s\n":    base,
		"3 URLs, 1 page, 2 resources, 12.3 kB":                                   with(func(s *summary) { s.Resources = 2 }),
		"complete, with errors\n":                                                with(func(s *summary) { s.Failed, s.Causes = 2, map[string]int64{"HTTP_ERROR": 2} }),
		"no page could be fetched":                                               with(func(s *summary) { s.Failed, s.Pages = 1, 0 }),
		"       2  HTTP_ERROR: the server answered":                              with(func(s *summary) { s.Failed, s.Causes = 2, map[string]int64{"HTTP_ERROR": 2} }),
		"not complete: the site is paused, 1 URL waits":                          with(func(s *summary) { s.Left, s.State = 1, "paused" }),
		"the site as a whole has: MAX_ITEMS":                                     with(func(s *summary) { s.SiteBits = []string{"MAX_ITEMS"} }),
		"by the last cause: cut 2, 503 1; the same command asks again\n":         with(func(s *summary) { s.Failed, s.GivenUp = 3, map[string]int64{"503": 1, "cut": 2} }),
		"4 left out by robots.txt":                                               with(func(s *summary) { s.LeftOut = 4 }),
		"/: no page could be fetched and processed\n":                            with(func(s *summary) { s.LeftOut, s.Pages = 1, 0 }),
		"3 forbidden by robots.txt; list them with: hce url ls s --forbidden":    with(func(s *summary) { s.LeftOut, s.Forbidden = 4, 3 }),
		"2 pages: noindex asks robots not to index them; exports leave them out": with(func(s *summary) { s.NoIndex = 2 }),
		"if you may, ignore it with: hce site edit s --property ROBOTS_META=0 ":  with(func(s *summary) { s.alone, s.NoFollow = true, true }),
		"list the others with: hce url ls s --outside --reasons":                 with(func(s *summary) { s.alone = true }),
		"the last error: no route to host\n":                                     with(func(s *summary) { s.Failed, s.Pages, s.cause = 1, 0, "no route to host" }),
	} {
		if got := s.summaryText(); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestTable(t *testing.T) {
	tab := table{head: []string{"A", " N", "LAST"}}
	tab.addRow("x\x1b[31m\ny", "5", "end")
	tab.addRow("a long cell", "12345", "")
	var b strings.Builder
	tab.printTable(&b)
	want := "A                N  LAST\nx[31m y          5  end\na long cell  12345\n"
	if got := b.String(); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1500: "1.5 kB", 2e12: "2.0 TB", 3e15: "3000.0 TB"} {
		if got := files.Bytes(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	if got := cutText("äöüß", 3); got != "äö…" {
		t.Error(got)
	}
}

// The crawler-task.ini of a daemon of this machine is found next to --config; that of another machine is not here.
func TestFindCrawlerIni(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"dc-client.ini", "crawler-task.ini"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	near, far := filepath.Join(folder, "dc-client.ini"), filepath.Join(t.TempDir(), "dc-client.ini")
	for _, tt := range []struct {
		name string
		s    session
		want string
	}{
		{"typed", session{options: options{ini: "x.ini"}}, "x.ini"},
		{"next to --config", session{options: options{config: near}, clients: client.Server{Host: "127.0.0.1"}}, filepath.Join(folder, "crawler-task.ini")},
		{"--config without one", session{options: options{config: far}, clients: client.Server{Host: "localhost"}}, ""},
		{"another machine", session{options: options{config: near}, clients: client.Server{Host: "192.0.2.1"}}, ""},
	} {
		tt.s.talk = io.Discard
		if found := tt.s.findCrawlerIni(); tt.s.ini != tt.want || found != (tt.want != "") {
			t.Errorf("%s: %v, %q", tt.name, found, tt.s.ini)
		}
	}
}

// Lists of more than one portion are complete.
func TestManySites(t *testing.T) {
	stores := storestest.Open(t)
	s := &session{ctx: t.Context(), service: stores}
	for i := range 5 {
		stores.NewSite(fmt.Sprintf("https://h%d.example/", i))
	}
	list, err := s.listSites()
	if err != nil || len(list) != 5 {
		t.Errorf("%d sites, %v", len(list), err)
	}
	if site, err := s.findSite("h3.example"); err != nil || rootOf(site) != "https://h3.example/" {
		t.Errorf("%+v, %v", site, err)
	}
	if _, err := s.findSite("h3.exampel"); err == nil || !strings.Contains(err.Error(), "did you mean https://h") {
		t.Error(err)
	}
}

// Each fault of doctor has a remedy.
func TestDoctorFaults(t *testing.T) {
	open := filepath.Join(t.TempDir(), "keys")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o755); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		check func(d *doctor)
		state string
		says  string
	}{
		"open keys":    {func(d *doctor) { d.checkKeys(open) }, fault, "other users can read"},
		"no keys":      {func(d *doctor) { d.checkKeys(filepath.Join(t.TempDir(), "none")) }, fine, "makes them at its first start"},
		"no such disk": {func(d *doctor) { d.checkDisk("/no/such/folder") }, fault, "no such file"},
		"a file":       {func(d *doctor) { d.checkFolder(place{dir: "/dev/null/x"}, "/") }, fault, "not a"},
		"nobody there": {func(d *doctor) {
			d.useService(client.Server{Host: "127.0.0.1", Port: 1, Timeout: 50 * time.Millisecond})
			d.checkAnswers("daemon", "", func(error) string { return "start it" })
		}, fault, "no answer"},
		"the clock":     {func(d *doctor) { d.checkClock(t.TempDir(), "") }, fine, "20"},
		"a good answer": {func(d *doctor) { d.useService(storestest.Open(t)); d.checkAnswers("database", "it answers", nil) }, fine, "it answers"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &doctor{session: &session{ctx: t.Context(), talk: io.Discard}}
			c.check(d)
			if len(d.found) != 1 || d.found[0].State != c.state || !strings.Contains(d.found[0].Text, c.says) {
				t.Errorf("%+v", d.found)
			}
		})
	}
}

package remote_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/process/linkresolve"
	"hce/dc/internal/process/remote"
	"hce/dc/internal/process/template"
)

// web answers requests and counts them. politeclient has the tests with real servers.
type web struct {
	mu     sync.Mutex
	counts map[string]int
	pages  map[string]func(remote.Request) (remote.Answer, error)
}

func (w *web) Get(ctx context.Context, r remote.Request) (remote.Answer, error) {
	w.mu.Lock()
	w.counts[r.Method+" "+r.URL]++
	w.mu.Unlock()
	if ctx.Err() != nil {
		return remote.Answer{}, ctx.Err()
	}
	return w.pages[r.URL](r)
}

func answer(code int, url, body string) func(remote.Request) (remote.Answer, error) {
	return func(remote.Request) (remote.Answer, error) {
		return remote.Answer{URL: url, Code: code, Body: []byte(body)}, nil
	}
}

// fixture is a reader with a clock and folders of its own.
type fixture struct {
	*remote.Reader
	web *web
	now time.Time
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{web: &web{counts: map[string]int{}, pages: map[string]func(remote.Request) (remote.Answer, error){}}, now: time.Date(2026, 11, 23, 5, 0, 0, 0, time.UTC)}
	f.Reader = &remote.Reader{Web: f.web, Now: func() time.Time { return f.now }, Log: slog.New(slog.DiscardHandler), Config: remote.Config{
		TemplateDir: t.TempDir(), StateDir: filepath.Join(t.TempDir(), "state"), MaxTemplate: 1 << 10, KeepTime: time.Minute,
		MaxPageLinks: 3, MaxBatchLinks: 5, MaxResolveBody: 1 << 10,
	}}
	return f
}

func sources(t *testing.T, text string) []template.Source {
	t.Helper()
	list, err := template.ParseSources(text)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// templates reads the sources and returns the answers of those that are due, and the faults.
func templates(ctx context.Context, b *remote.Batch, page *remote.Page, list []template.Source) (answers []remote.TemplateAnswer, faults []error) {
	for _, a := range b.Templates(ctx, page, list) {
		switch {
		case a.Err != nil:
			faults = append(faults, a.Err)
		case a.Due:
			answers = append(answers, a)
		}
	}
	return answers, faults
}

// Files are read below the folder of the configuration only. Each fault says what is wrong.
func TestFiles(t *testing.T) {
	f := newFixture(t)
	dir := f.Config.TemplateDir
	outside := filepath.Join(t.TempDir(), "secret.json")
	for path, content := range map[string]string{
		filepath.Join(dir, "t.json"): `{"tags":{}}`, filepath.Join(dir, "in", "t.json"): "[]", filepath.Join(dir, "empty"): " \n",
		filepath.Join(dir, "large"): strings.Repeat("x", 1<<10+1), filepath.Join(dir, "full"): strings.Repeat("x", 1<<10), outside: "secret",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(
		os.Symlink(outside, filepath.Join(dir, "link")), os.Symlink("t.json", filepath.Join(dir, "near")),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ path, want, fault string }{
		"a file":              {path: "t.json", want: `{"tags":{}}`},
		"in a folder":         {path: "in/t.json", want: "[]"},
		"link inside":         {path: "near", want: `{"tags":{}}`},
		"as large as allowed": {path: "full", want: strings.Repeat("x", 1<<10)},
		"too large":           {path: "large", fault: "more than 1024 bytes (max_template_size)"},
		"empty":               {path: "empty", fault: "it is empty"},
		"missing":             {path: "none", fault: "no such file"},
		"a folder":            {path: "in", fault: "not a regular file"},
		"a pipe":              {path: "pipe", fault: "not a regular file"},
		"link out of it":      {path: "link", fault: "path escapes"},
		"parent":              {path: "../" + filepath.Base(dir) + "/t.json", fault: "relative to template_dir"},
		"absolute":            {path: outside, fault: "relative to template_dir"},
	} {
		t.Run(name, func(t *testing.T) {
			list := sources(t, fmt.Sprintf(`{"name":"n","source":"file","request":%q,"schedule":{"type":1}}`, c.path))
			answers, faults := templates(t.Context(), f.Batch(), &remote.Page{Site: "s"}, list)
			if c.fault != "" {
				if len(faults) != 1 || len(answers) > 0 || !strings.Contains(faults[0].Error(), c.fault) || !strings.HasPrefix(faults[0].Error(), `property TEMPLATE_SOURCE, source 1 ("n"), file "`) {
					t.Errorf("answers %v, faults %v, want %q", answers, faults, c.fault)
				}
				return
			}
			if len(faults) > 0 || len(answers) != 1 || answers[0].Text != c.want || answers[0].Name != "n" {
				t.Errorf("answers %.200v, faults %v", answers, faults)
			}
		})
	}
	other := newFixture(t)
	other.Config.TemplateDir = ""
	_, faults := templates(t.Context(), other.Batch(), &remote.Page{}, sources(t, `{"source":"file","request":"t.json","schedule":{"type":1}}`))
	if len(faults) != 1 || !strings.Contains(faults[0].Error(), "set template_dir in processor-task.ini") {
		t.Errorf("without a folder: %v", faults)
	}
}

// Answers are requested once in KeepTime, faults too. Another body is another request.
func TestAnswersAreKept(t *testing.T) {
	f := newFixture(t)
	const url, bad, empty, away = "http://t.test/t", "http://t.test/bad", "http://t.test/empty", "http://away.test/"
	var bodies []string
	f.web.pages[url] = func(r remote.Request) (remote.Answer, error) {
		bodies = append(bodies, r.Body)
		if r.Robots || r.MaxBytes != 1<<10 || r.Delay != time.Second || len(r.Header) != 1 || r.Header[0] != (template.Header{Name: "X-Key", Value: "7"}) {
			t.Errorf("request %+v", r)
		}
		return remote.Answer{URL: url, Code: 200, Body: []byte("[1]")}, nil
	}
	f.web.pages[bad], f.web.pages[empty] = answer(404, bad, "none"), answer(200, empty, " ")
	f.web.pages[away] = func(remote.Request) (remote.Answer, error) { return remote.Answer{}, errors.New("connection refused") }
	list := sources(t, `[{"source":"http","request":"`+url+`","headers":{"X-Key":"7"},"post":"u=%URL%&c=%RAW_CONTENT%","schedule":{"type":1}},
		{"source":"http","request":"`+bad+`","schedule":{"type":1}},{"source":"http","request":"`+away+`","schedule":{"type":1}},
		{"source":"http","request":"`+empty+`","schedule":{"type":1}},
		{"source":"http","request":"http://never.test/"},{"source":"http","request":"http://roots.test/","schedule":{"type":0}}]`)
	page := &remote.Page{Site: "s", URL: "http://p.test/1", Text: []byte("<p>"), Access: remote.Access{Delay: time.Second, Robots: true}}
	for range 3 {
		answers, faults := templates(t.Context(), f.Batch(), page, list)
		if len(answers) != 1 || answers[0].Text != "[1]" || len(faults) != 3 {
			t.Fatalf("answers %v, faults %v", answers, faults)
		}
		for i, want := range []string{"status 404; expected a page", "connection refused", "is empty"} {
			if !strings.Contains(faults[i].Error(), want) {
				t.Errorf("fault %v, want %q", faults[i], want)
			}
		}
	}
	if n := len(f.web.counts); n != 4 || f.web.counts["POST "+url] != 1 || f.web.counts["GET "+bad] != 1 || f.web.counts["GET "+away] != 1 {
		t.Errorf("requests %v", f.web.counts)
	}
	page.URL = "http://p.test/2"
	f.Batch().Templates(t.Context(), page, list)
	f.now = f.now.Add(time.Minute)
	f.Batch().Templates(t.Context(), page, list)
	if f.web.counts["POST "+url] != 3 || f.web.counts["GET "+away] != 2 {
		t.Errorf("requests %v", f.web.counts)
	}
	if got := strings.Join(bodies, " "); got != "u=http://p.test/1&c=<p> u=http://p.test/2&c=<p> u=http://p.test/2&c=<p>" {
		t.Errorf("bodies %s", got)
	}
	// The end of a batch is not kept.
	page.URL = "http://p.test/3"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if answers, faults := templates(ctx, f.Batch(), page, list); len(answers) > 0 || len(faults) == 0 {
		t.Errorf("answers %v, faults %v", answers, faults)
	}
	if answers, _ := templates(t.Context(), f.Batch(), page, list); len(answers) != 1 {
		t.Errorf("answers %v", answers)
	}
}

// A schedule with a state is used by all pages of one batch, and by one process only.
func TestSchedules(t *testing.T) {
	f := newFixture(t)
	const url = "http://t.test/t"
	f.web.pages[url] = answer(200, url, "[1]")
	used := func(b *remote.Batch, site, schedule string) bool {
		t.Helper()
		list := sources(t, `{"source":"http","request":"`+url+`","schedule":`+schedule+`}`)
		answers, faults := templates(t.Context(), b, &remote.Page{Site: site}, list)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		return len(answers) == 1
	}
	const once, hourly = `{"type":2,"at":"2026-11-23 06:00","file":"../../x"}`, `{"type":3,"step":60,"file":"h"}`
	for range 2 {
		if !used(f.Trial(), "s", hourly) {
			t.Error("a trial counts as use")
		}
	}
	if _, err := os.Stat(f.Config.StateDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a trial writes: %v", err)
	}
	first := f.Batch()
	if used(first, "s", once) || !used(first, "s", hourly) || !used(first, "s", hourly) {
		t.Error("at the begin")
	}
	if used(f.Trial(), "s", hourly) {
		t.Error("a trial after the first batch")
	}
	if used(f.Batch(), "s", hourly) || !used(f.Batch(), "other", hourly) {
		t.Error("a second batch")
	}
	f.now = f.now.Add(time.Hour)
	b := f.Batch()
	for range 2 { // one batch decides once
		if !used(b, "s", once) {
			t.Error("an hour later")
		}
	}
	if !used(b, "s", hourly) {
		t.Error("an hour later")
	}
	restarted := newFixture(t) // as after a kill, with the same folder
	restarted.Config.StateDir, restarted.now, restarted.web.pages = f.Config.StateDir, f.now, f.web.pages
	if b := restarted.Batch(); used(b, "s", once) || used(b, "s", hourly) {
		t.Error("after a restart")
	}
	names, err := filepath.Glob(filepath.Join(f.Config.StateDir, "*.json"))
	if err != nil || len(names) != 3 {
		t.Fatalf("files %v, %v", names, err)
	}
	for _, name := range names { // broken states count as unused
		if err := os.WriteFile(name, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !used(f.Batch(), "s", hourly) {
		t.Error("with a broken state")
	}
}

// Links lead where their redirects end, within the limits of a page and of a batch
// (docs/spec/processing.md 1.5 LINK_RESOLVE, 4.5).
func TestLinks(t *testing.T) {
	f := newFixture(t)
	rules, err := linkresolve.Parse(`{"method":{"/get":"GET"}}`)
	if err != nil {
		t.Fatal(err)
	}
	f.web.pages["http://t.test/1"] = answer(200, "http://end.test/", "")
	f.web.pages["http://t.test/same"] = answer(200, "http://t.test/same", "")
	f.web.pages["http://t.test/gone"] = answer(404, "http://t.test/gone", "")
	f.web.pages["http://t.test/get"] = answer(200, "http://t.test/get", `<a id="redirect_url" href="http://marked.test/">`)
	f.web.pages["http://t.test/405"] = func(r remote.Request) (remote.Answer, error) {
		if r.Method == "HEAD" {
			return remote.Answer{URL: r.URL, Code: 405}, nil
		}
		return remote.Answer{URL: "http://end.test/405", Code: 200}, nil
	}
	page := &remote.Page{Site: "s", Access: remote.Access{Robots: true}}
	b := f.Batch()
	found, faults := b.Links(t.Context(), page, rules, []string{"http://t.test/1", "http://t.test/same", "http://t.test/gone", "http://t.test/get"})
	if fmt.Sprint(found) != "map[http://t.test/1:http://end.test/]" || len(faults) != 2 ||
		!strings.Contains(faults[0].Error(), `"http://t.test/gone" is left as it is: "http://t.test/gone" answers with status 404`) ||
		!strings.Contains(faults[1].Error(), "1 links of the page are left as they are; the limit is 3 (max_page_links)") {
		t.Errorf("found %v, faults %v", found, faults)
	}
	found, faults = b.Links(t.Context(), page, rules, []string{"http://t.test/get", "http://t.test/405", "http://t.test/1"})
	if fmt.Sprint(found) != "map[http://t.test/405:http://end.test/405 http://t.test/get:http://marked.test/]" || len(faults) != 1 ||
		!strings.Contains(faults[0].Error(), "the batch has requested 5 (max_batch_links)") {
		t.Errorf("found %v, faults %v", found, faults)
	}
	found, faults = f.Batch().Links(t.Context(), page, rules, []string{"http://t.test/1", "http://t.test/gone"})
	if len(found) != 1 || len(faults) != 1 || f.web.counts["HEAD http://t.test/1"] != 1 || f.web.counts["HEAD http://t.test/gone"] != 1 {
		t.Errorf("found %v, faults %v, requests %v", found, faults, f.web.counts)
	}
	_, faults = (&remote.Reader{Now: time.Now, Config: f.Config}).Batch().Links(t.Context(), page, rules, []string{"http://t.test/1"})
	if len(faults) != 1 || !strings.Contains(faults[0].Error(), "sends no requests") {
		t.Errorf("without a client: %v", faults)
	}
}

package crawl_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/hostgate"
	"hce/dc/internal/crawl/browser"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/visit"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// shortDir is t.TempDir without the name of the test: the path of a profile has a maximum.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "b-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// newBrowser starts a browser behind the guard of the tests, with its files in folder.
func newBrowser(t *testing.T, folder string, change func(*browser.Config)) *browser.Browser {
	t.Helper()
	client := fetch.New(fetch.Config{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Resolver: names{}})
	t.Cleanup(client.Close)
	cfg := browser.Config{Dial: client.Dial, Resolve: client.Resolve, TempDir: folder, Macros: browser.MacroPolicy{Enabled: true}}
	if change != nil {
		change(&cfg)
	}
	b := browser.New(cfg)
	t.Cleanup(b.Close)
	return b
}

// acquisitions counts how often gates are acquired.
type acquisitions struct {
	visit.Gates
	mu sync.Mutex
	n  int
}

func (a *acquisitions) Acquire(ctx context.Context, host string, delay time.Duration, n int) (*hostgate.Pass, error) {
	a.mu.Lock()
	a.n++
	a.mu.Unlock()
	return a.Gates.Acquire(ctx, host, delay, n)
}

// scripted is a host whose pages are built by scripts.
func scripted(t *testing.T) *server {
	other := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			fmt.Fprint(w, "User-agent: *\nDisallow: /closed")
			return
		}
		page(w, "<p>other")
	})
	goTo := func(w http.ResponseWriter, target string) {
		page(w, `<body>left<script>location.href="`+target+`"</script>`)
	}
	return newServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /closed")
		case "/feed":
			w.Header().Set("Content-Type", "application/rss+xml")
			fmt.Fprint(w, `<rss version="2.0"><channel><title>f</title><item><title>a</title><link>/entry</link></item></channel></rss>`)
		case "/to-page":
			goTo(w, "/page")
		case "/to-out":
			goTo(w, "/out")
		case "/to-closed":
			goTo(w, "/closed")
		case "/to-other":
			goTo(w, other.URL+"/open")
		case "/to-other-closed":
			goTo(w, other.URL+"/closed")
		case "/to-private":
			goTo(w, "http://10.0.0.1/")
		case "/later":
			page(w, `<body><script>setTimeout(() => document.body.append("came late"), 300)</script>`)
		case "/cookie":
			page(w, `<body><script>document.cookie = "js=1; max-age=1000; path=/"</script>`)
		case "/cookies":
			page(w, `<body><script>for (let i = 1; i <= 40; i++) document.cookie = "js" + i + "=" + "x".repeat(4000) + "; max-age=1000; path=/"</script>`)
		case "/old":
			w.Header().Set("Content-Type", "text/html; charset=windows-1251")
			fmt.Fprint(w, "<body>\xe6")
		case "/echo":
			page(w, "<body>cookie "+r.Header.Get("Cookie"))
		case "/conflict":
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, "<body>conflict")
		case "/busy":
			w.Header().Set("Retry-After", "3")
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, "<body>busy")
		default:
			page(w, `<body><script>
				const a = document.createElement("a"); a.href = "/by-script"; a.append("made by script"); document.body.append(a);
			</script>`)
		}
	})
}

// TestDynamic renders pages in a real browser. The cases share one, because its start takes a
// second.
func TestDynamic(t *testing.T) {
	folder := shortDir(t)
	seen := newBrowser(t, folder, nil)
	s := scripted(t)
	world := func(t *testing.T, properties ...string) *world {
		w := newWorld(t)
		w.job.Browser = seen
		w.addSite("s", properties...).FetchType = 2
		return w
	}
	child := func(u *wire.URL) { u.ParentMd5 = wire.Md5("parent") }

	t.Run("a page that a script makes", func(t *testing.T) {
		w := world(t)
		gates := &acquisitions{Gates: w.job.Gates}
		w.job.Gates = gates
		it := w.item("s", s.URL+"/page")
		w.run(batchOf(it))
		row := w.row(it)
		if row.ErrorMask != 0 || row.HTTPCode != 200 || row.Charset != "utf-8" || row.ContentType != "text/html" || row.Status != wire.StatusCrawled {
			t.Errorf("%s %+v", bitNames(row.ErrorMask), row)
		}
		raw := w.file(it, wire.ContentRaw)
		if !strings.Contains(raw, ">made by script</a>") || w.file(it, wire.ContentDynamic) != raw {
			t.Errorf("raw %q, dynamic %q", raw, w.file(it, wire.ContentDynamic))
		}
		if got := w.links(it); !slices.Equal(got, []string{s.URL + "/by-script"}) {
			t.Errorf("links %q", got)
		}
		if gates.n != 1 {
			t.Errorf("the gate was taken %d times for one request", gates.n)
		}
	})

	t.Run("who fetches", func(t *testing.T) {
		for _, tt := range []struct {
			name, path string
			fetchType  int64
			change     func(*wire.URL)
			properties []string
			dynamic    bool
		}{
			{"static", "/page", 1, nil, nil, false},
			{"dynamic", "/page", 2, child, nil, true},
			{"automatic", "/page", 7, nil, nil, false},
			{"roots only, root", "/page", 2, nil, []string{"DYNAMIC_FETCH_ONLY_FOR_ROOT_URL", "1"}, true},
			{"roots only, link", "/page", 2, child, []string{"DYNAMIC_FETCH_ONLY_FOR_ROOT_URL", "1"}, false},
			{"roots only, link with a fetcher of its own", "/page", 2, child, []string{"DYNAMIC_FETCH_ONLY_FOR_ROOT_URL", "1", "FETCHER_TYPE", `{"/page": 2}`}, true},
			{"fetcher of its own", "/page", 1, nil, []string{"FETCHER_TYPE", `{"/page": 2}`}, true},
			{"another has a fetcher of its own", "/page", 1, nil, []string{"FETCHER_TYPE", `{"/app": 2}`}, false},
			{"plain fetcher of its own", "/page", 2, nil, []string{"FETCHER_TYPE", `{"/page": 1}`}, false},
			{"feed", "/feed", 2, nil, []string{"PROCESSOR_NAME", "RSS"}, false},
			{"entry of a feed", "/page", 2, func(u *wire.URL) { child(u); u.Type = wire.TypeFetched }, []string{"PROCESSOR_NAME", "RSS"}, true},
		} {
			t.Run(tt.name, func(t *testing.T) {
				w := world(t, tt.properties...)
				w.Sites["s"].FetchType = tt.fetchType
				var changes []func(*wire.URL)
				if tt.change != nil {
					changes = append(changes, tt.change)
				}
				it := w.item("s", s.URL+tt.path, changes...)
				w.run(batchOf(it))
				if row := w.row(it); row.ErrorMask != 0 {
					t.Fatal(bitNames(row.ErrorMask))
				}
				if got := w.file(it, wire.ContentDynamic) != ""; got != tt.dynamic {
					t.Errorf("dynamic %t", got)
				}
			})
		}
	})

	t.Run("where a script leads", func(t *testing.T) {
		for _, tt := range []struct {
			path   string
			change func(*wire.URL)
			bits   errormask.Mask
			asked  string // path that must not be requested
			base   string
		}{
			{"/to-page", child, 0, "", "/page"},
			{"/to-other", func(*wire.URL) {}, 0, "", "/open"},
			{"/to-out", child, errormask.FiltersBreak, "/out", ""},
			{"/to-closed", child, errormask.Robots, "/closed", ""},
			{"/to-other-closed", func(*wire.URL) {}, errormask.Robots, "", ""},
		} {
			t.Run(tt.path, func(t *testing.T) {
				w := world(t, "ROBOTS_MODE", "1")
				w.Sites["s"].Filters = append(w.Sites["s"].Filters, wire.SiteFilter{Pattern: "/out$", Stage: 5, Action: -1, State: 1})
				s.forget()
				it := w.item("s", s.URL+tt.path, tt.change, func(u *wire.URL) { u.RequestDelay = 200 })
				answer := w.run(batchOf(it))
				if row := w.row(it); row.ErrorMask != tt.bits {
					t.Errorf("%s", bitNames(row.ErrorMask))
				}
				if tt.asked != "" && slices.Contains(s.paths(), tt.asked) {
					t.Errorf("asked for %q", s.paths())
				}
				if tt.base != "" && (len(answer.Items) != 1 || !strings.HasSuffix(answer.Items[0].BaseURL, tt.base)) {
					t.Errorf("answer %+v", answer.Items)
				}
				s.checkGaps(t, 200*time.Millisecond)
			})
		}
		t.Run("a private address", func(t *testing.T) {
			w := world(t)
			it := w.item("s", s.URL+"/to-private")
			w.run(batchOf(it))
			if row := w.row(it); row.ErrorMask&errormask.Guard == 0 || row.State != wire.URLError {
				t.Errorf("%s", bitNames(row.ErrorMask))
			}
		})
		t.Run("more often than allowed", func(t *testing.T) {
			w := world(t, "HTTP_REDIRECTS_MAX", "0")
			it := w.item("s", s.URL+"/to-page")
			w.run(batchOf(it))
			if row := w.row(it); row.ErrorMask != errormask.MaxHTTPRedirects {
				t.Errorf("%s", bitNames(row.ErrorMask))
			}
		})
	})

	t.Run("macros", func(t *testing.T) {
		forbids := newBrowser(t, folder, func(c *browser.Config) { c.Macros.Enabled = false })
		const result = `{"sets": [{"name": "n", "items": ["return %s"]}], "result_type": %d}`
		for _, tt := range []struct {
			name, path, macro string
			browser           visit.Browser
			bits              errormask.Mask
			raw               string // expected in the body
			kind              string
			links             []string
		}{
			{"script", "/old", `["document.body.append(' by macro')"]`, seen, 0, "ж by macro", "text/html", nil},
			{"behind the URL", "/page###document.body.append('inline')", "", seen, 0, "inline", "text/html", []string{s.URL + "/by-script"}},
			{"behind the URL, before the property", "/old###document.body.append('inline')", `["throw 1"]`, seen, 0, "inline", "text/html", nil},
			{"URLs", "/old", fmt.Sprintf(result, `['/m1', 'm2']`, 1), seen, 0, "", "", []string{s.URL + "/m1", s.URL + "/m2"}},
			{"content", "/old", fmt.Sprintf(result, `document.body.textContent`, 2), seen, 0, "ж", "text/json", nil},
			{"fails", "/page", `["throw new Error('x')"]`, seen, errormask.Macro, "", "", nil},
			{"cannot be read", "/page", `{"sets": 1`, seen, errormask.MacroDeserialization, "", "", nil},
			{"the ini forbids it", "/page", `["1"]`, forbids, errormask.Macro, "", "", nil},
			{"the ini forbids it behind the URL", "/page###1", "", forbids, errormask.Macro, "", "", nil},
		} {
			t.Run(tt.name, func(t *testing.T) {
				var properties []string
				if tt.macro != "" {
					properties = []string{"FETCHER_MACRO", tt.macro}
				}
				w := world(t, properties...)
				w.job.Browser = tt.browser
				it := w.item("s", s.URL+tt.path)
				w.run(batchOf(it))
				row, raw := w.row(it), w.file(it, wire.ContentRaw)
				if row.ErrorMask != tt.bits || !strings.Contains(raw, tt.raw) || tt.kind != "" && row.ContentType != tt.kind {
					t.Errorf("%s, type %q, raw %q", bitNames(row.ErrorMask), row.ContentType, raw)
				}
				if got := w.links(it); !slices.Equal(got, tt.links) {
					t.Errorf("links %q", got)
				}
				if tt.bits == errormask.MacroDeserialization && w.SiteBits&tt.bits == 0 {
					t.Errorf("the site has %s", bitNames(w.SiteBits))
				}
			})
		}
	})

	t.Run("damping", func(t *testing.T) {
		for timeout, want := range map[float64]errormask.Mask{10000.1: 0, 2000.5: errormask.FetcherInternal, -1: 0} {
			w := world(t)
			it := w.item("s", s.URL+"/later", func(u *wire.URL) { u.HTTPTimeout = timeout })
			w.run(batchOf(it))
			if row := w.row(it); row.ErrorMask != want || timeout == 10000.1 && !strings.Contains(w.file(it, wire.ContentRaw), ">came late") && !strings.Contains(w.file(it, wire.ContentRaw), "came late</body>") {
				t.Errorf("%v: %s, %q", timeout, bitNames(row.ErrorMask), w.file(it, wire.ContentRaw))
			}
		}
	})

	t.Run("cookies", func(t *testing.T) {
		w := world(t, "FETCHER_TYPE", `{"/echo$": 1}`)
		w.job.Config.CookieDir = t.TempDir()
		w.run(batchOf(w.item("s", s.URL+"/cookie")))
		text, err := os.ReadFile(filepath.Join(w.job.Config.CookieDir, "s.json"))
		if err != nil || !strings.Contains(string(text), `"js"`) || strings.Contains(string(text), "default") {
			t.Errorf("%v, the jar is %s", err, text)
		}
		plain, seen := w.item("s", s.URL+"/echo"), w.item("s", s.URL+"/echo?2")
		w.run(batchOf(plain, seen))
		for _, it := range []wire.BatchItem{plain, seen} {
			if got := w.file(it, wire.ContentRaw); !strings.Contains(got, "default=1") || !strings.Contains(got, "js=1") {
				t.Errorf("%s: %q", it.URL.URL, got)
			}
		}
	})

	// Chromium stores cookies of scripts later: more of them take longer.
	t.Run("many cookies", func(t *testing.T) {
		w := world(t)
		w.job.Config.CookieDir = t.TempDir()
		w.run(batchOf(w.item("s", s.URL+"/cookies")))
		text, err := os.ReadFile(filepath.Join(w.job.Config.CookieDir, "s.json"))
		if n := strings.Count(string(text), "\"js"); err != nil || n != 40 {
			t.Errorf("%d cookies, %v", n, err)
		}
	})

	t.Run("busy", func(t *testing.T) {
		w := world(t)
		it := w.item("s", s.URL+"/busy")
		before := time.Now()
		w.run(batchOf(it))
		if row := w.row(it); row.HTTPCode != 503 || row.ErrorMask != errormask.HTTP {
			t.Errorf("code %d, %s", row.HTTPCode, bitNames(row.ErrorMask))
		}
		if next, _, err := w.job.Gates.Next(s.host, 0, 1, time.Now()); err != nil || next.Before(before.Add(3*time.Second)) {
			t.Errorf("the host may be asked at once: %v %v", next, err)
		}
	})

	t.Run("conflict", func(t *testing.T) {
		w := world(t)
		it := w.item("s", s.URL+"/conflict")
		w.run(batchOf(it))
		if row := w.row(it); row.HTTPCode != 409 || row.ErrorMask != errormask.HTTP {
			t.Errorf("code %d, %s", row.HTTPCode, bitNames(row.ErrorMask))
		}
	})

	t.Run("not installed", func(t *testing.T) {
		w := world(t)
		var log bytes.Buffer
		w.job.Log = slog.New(slog.NewTextHandler(&log, nil))
		w.job.Browser = newBrowser(t, folder, func(c *browser.Config) { c.Path = "no-such-chromium" })
		it := w.item("s", s.URL+"/page")
		w.run(batchOf(it))
		if row := w.row(it); row.ErrorMask != errormask.FetcherInternal || row.HTTPCode != 400 {
			t.Errorf("%s, code %d", bitNames(row.ErrorMask), row.HTTPCode)
		}
		if text := log.String(); !strings.Contains(text, "no-such-chromium") || !strings.Contains(text, "install") {
			t.Errorf("the log does not say what to do: %s", text)
		}
	})

	t.Run("through a proxy", func(t *testing.T) {
		for _, tt := range []struct {
			name string
			tls  bool
			with func(*relay) string
		}{
			{"http", false, (*relay).http},
			{"socks", false, (*relay).socks},
		} {
			t.Run(tt.name, func(t *testing.T) {
				o, through := newOrigin(t, ok), newRelay(t)
				w := world(t, "USER_PROXY", pool(1, "127.0.0.1:1", tt.with(through)))
				it := w.item("s", o.URL+"/page")
				w.run(batchOf(it))
				if row := w.row(it); row.ErrorMask != 0 || w.file(it, wire.ContentDynamic) == "" {
					t.Errorf("%s", bitNames(row.ErrorMask))
				}
				o.checkRelayed(t, 1)
			})
		}
		t.Run("no proxy is left", func(t *testing.T) {
			o := newOrigin(t, ok)
			w := world(t, "USER_PROXY", pool(1, "127.0.0.1:1", "socks5://127.0.0.1:2", "127.0.0.1:3"))
			it := w.item("s", o.URL+"/page")
			w.run(batchOf(it))
			if row := w.row(it); row.ErrorMask != errormask.NoProxy || row.HTTPCode != 504 {
				t.Errorf("%s, code %d", bitNames(row.ErrorMask), row.HTTPCode)
			}
			o.checkRelayed(t, 0)
		})
	})

	// Files that remain after the browser was closed.
	seen.Close()
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v %v", left, err)
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range lines {
		if line, err := os.ReadFile(name); err == nil && bytes.Contains(line, []byte(folder)) {
			t.Errorf("a process is left: %s", line)
		}
	}
}

// TestRenderedLinks: links of a rendered page that are not in its document.
func TestRenderedLinks(t *testing.T) {
	other := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		page(w, `<base href="/there/"><a href="framed">x</a>`)
	})
	const script = `<script>
		const host = document.getElementById("host"), tree = host.attachShadow({mode: "open"});
		tree.innerHTML = '<a href="shadow">x</a><div id=inner></div>';
		tree.getElementById("inner").attachShadow({mode: "open"}).innerHTML = '<a href="nested" rel="nofollow">x</a><img data-src="lazy.png">';
		document.getElementById("gone").remove();
		document.getElementById("changed").href = "new";
		fetch("/api/data.json");
		new Image().src = "/pixel.png";
		const form = document.createElement("form");
		form.innerHTML = '<input name="shadowRoot"><input name="outerHTML">';
		document.body.append(form);
	</script>`
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt", "/favicon.ico":
			w.WriteHeader(http.StatusNotFound)
		case "/inner":
			page(w, `<a href="deep/of-frame">x</a><div id=h></div><script>document.getElementById("h").attachShadow({mode: "open"}).innerHTML = "<a href=frame-shadow>x</a>"</script>`)
		case "/dir/page":
			page(w, `<html><body><a href="plain">x</a><a id=gone href="removed">x</a><a id=changed href="old">x</a><div id=host></div>
				<iframe src="/inner"></iframe><iframe src="`+other.URL+`/outer"></iframe><iframe srcdoc="<a href='of-srcdoc'>x</a>"></iframe>`+script)
		default:
			page(w, "x")
		}
	})
	w := newWorld(t)
	w.job.Browser = newBrowser(t, shortDir(t), nil)
	w.addSite("s").FetchType = 2
	it := w.item("s", s.URL+"/dir/page")
	w.run(batchOf(it))
	got := w.links(it)
	for _, want := range []string{
		"/dir/plain", "/dir/new", "/inner", "/dir/of-srcdoc", "/dir/shadow", "/dir/lazy.png", "/dir/removed", "/dir/old",
		"/deep/of-frame", "/frame-shadow", "/api/data.json", "/pixel.png",
	} {
		if !slices.Contains(got, s.URL+want) {
			t.Errorf("%s is no link", want)
		}
	}
	for _, want := range []string{"/outer", "/there/framed"} {
		if !slices.Contains(got, other.URL+want) {
			t.Errorf("%s of the other host is no link", want)
		}
	}
	if slices.Contains(got, s.URL+"/dir/nested") || slices.Contains(got, s.URL+"/favicon.ico") || len(got) != 14 {
		t.Errorf("links %v", got)
	}
	if row := w.row(it); row.ErrorMask != 0 || row.Status != wire.StatusCrawled || strings.Contains(w.file(it, wire.ContentDynamic), "removed") {
		t.Errorf("%s, status %d", bitNames(row.ErrorMask), row.Status)
	}
}

package cycle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/apps/ose/folder"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/politeclient"
)

// What another program left in a folder is never written over: the step refuses, or goes around it.
func TestHostileFolders(t *testing.T) {
	s := serve(t, map[string]http.HandlerFunc{"/": html("<a href=/x>")})
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	record := func(r folder.Record) string { return string(r.Append(nil)) }
	first := folder.Record{ID: 1, Code: 200, Streamed: 1767268800_000000000, URL: s.URL + "/"}
	for name, c := range map[string]struct {
		state   string
		files   map[string]string // "->" begins the target of a link
		refused string            // part of the error; "": the cycle ends
		kept    []string          // of files
	}{
		"next list of nobody":       {"0 0000000000", map[string]string{".urls2": "x"}, ".urls2, but the file exists", []string{".urls2"}},
		"next list of nobody, 2":    {"2 0000000000", map[string]string{".urls3": "x"}, ".urls3, but the file exists", []string{".urls3"}},
		"next list is a link":       {"1 0000000000", map[string]string{".urls2": "->" + outside}, "a symbolic link", nil},
		"next list of another list": {"1 0000000000", map[string]string{".urls2": record(folder.Record{URL: "http://other.example/"})}, ".urls2:1:1: the URL is not that", []string{".urls2"}},
		"next list is longer":       {"1 0000000001", map[string]string{".urls2": record(first) + record(folder.Record{URL: s.URL + "/y"})}, ".urls2:2:1: the URL is not that", []string{".urls2"}},
		"next list has an id twice": {"1 0000000001", map[string]string{".urls": record(folder.Record{URL: s.URL + "/"}) + record(folder.Record{URL: s.URL + "/y"}), ".urls2": record(first) + record(folder.Record{ID: 1, Code: 200, Streamed: 1, URL: s.URL + "/y"})}, ".urls2:2:1: the URLID is neither", []string{".urls2"}},
		"next list has a new id":    {"3 0000000001", map[string]string{".urls": record(first), ".urls3": record(folder.Record{ID: 2, Code: 200, Streamed: 1, URL: first.URL})}, ".urls3:1:1: the URLID is neither", []string{".urls3"}},
		"wrong record":              {"1 0000000000", map[string]string{".urls2": "x\n"}, ".urls2:1:2: the record ends", []string{".urls2"}},
		"huge line":                 {"1 0000000000", map[string]string{".urls2": strings.Repeat("x", 1<<20)}, ".urls2:1:4152: the record is longer", []string{".urls2"}},
		"torn record":               {"1 0000000000", map[string]string{".urls2": record(first)[:70]}, "", nil},
		"list is a link":            {"0 0000000000", map[string]string{".urls": "->" + outside}, ".urls: a symbolic link", nil},
		"list is a pipe":            {"0 0000000000", map[string]string{".urls": "|"}, ".urls: is not a regular file", nil},
		"wrong list":                {"0 0000000000", map[string]string{".urls": "http://example.org/\n"}, ".urls:1:20: the record ends", []string{".urls"}},
		"state":                     {"7 0000000000", nil, ".osestatus:1:1: state", []string{".osestatus"}},
		"state is a link":           {"0 0000000000", map[string]string{".osestatus": "->" + outside}, ".osestatus: a symbolic link", nil},
		"lock is a link":            {"0 0000000000", map[string]string{".oselock": "->" + outside}, "too many levels", nil},
		"log is a link":             {"0 0000000000", map[string]string{".oselog": "->" + outside}, ".oselog: a symbolic link", nil},
		"merged":                    {"4 0000000001", map[string]string{".osemerged": "x"}, ".osemerged:1:1: ", []string{".osemerged"}},
		"no URL":                    {"0 0000000000", map[string]string{".urls": ""}, ".urls: has no URL", []string{".urls"}},
		"lost records":              {"0 0000000002", map[string]string{".urls": record(first)}, ".osestatus: the last URLID is 0000000002, the highest of .urls is 0000000001", []string{".osestatus", ".urls"}},
		"merged beyond the records": {"0 0000000001", map[string]string{".urls": record(first) + record(folder.Record{URL: s.URL + "/y"}), ".osemerged": "0000000002"}, ".osemerged: links are merged up to URLID 0000000002", []string{".osemerged"}},
		"meta of another":           {"0 0000000000", map[string]string{".meta.0000000001": "x", "0000000001": "y", ".meta.0000000002": "->" + outside}, "", []string{".meta.0000000001", "0000000001"}},
		"links of pages":            {"0 0000000000", map[string]string{"0000000001": "->" + outside, ".links.0000000001": "->" + outside, ".links.malformed.0000000001": "->" + outside, "0000000001.tmp": "->" + outside, ".osestatus.tmp": "->" + outside, ".urls4": "->" + outside}, "", nil},
		"ids out of order":          {"0 0000000001", map[string]string{".urls": record(folder.Record{ID: 9, Code: 200, Streamed: 1, Parsed: 1, URL: s.URL + "/9"}) + record(folder.Record{URL: s.URL + "/"}) + record(folder.Record{ID: 3, Code: 404, Streamed: 1, Parsed: 1, URL: s.URL + "/3"})}, "", nil},
		"page without a file":       {"2 0000000001", map[string]string{".urls": record(first)}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t, s.URL+"/")
			if err := os.WriteFile(f.Path(folder.StatusName), []byte(c.state), 0o600); err != nil {
				t.Fatal(err)
			}
			for name, text := range c.files {
				_ = os.Remove(f.Path(name)) // may be missing
				err := os.WriteFile(f.Path(name), []byte(text), 0o600)
				if to, link := strings.CutPrefix(text, "->"); link {
					err = errors.Join(os.Remove(f.Path(name)), os.Symlink(to, f.Path(name)))
				}
				if text == "|" {
					err = errors.Join(os.Remove(f.Path(name)), syscall.Mkfifo(f.Path(name), 0o600))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			cycle, _ := newCycle(t)
			_, err := cycle.Run(t.Context(), f)
			if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
				t.Errorf("%v, want %q", err, c.refused)
			}
			if status, _ := f.Status(); c.refused == "" && status.State != folder.Idle {
				t.Errorf("state %s", status)
			}
			for _, name := range c.kept {
				want, given := c.files[name]
				if !given {
					want = c.state
				}
				if got, err := os.ReadFile(f.Path(name)); string(got) != want {
					t.Errorf("%s is %q now, %v", name, got, err)
				}
			}
			if got, err := os.ReadFile(outside); string(got) != "keep" {
				t.Fatalf("a file outside of the folder is %q now, %v", got, err)
			}
		})
	}
	for path, n := range s.counts {
		if path != "/" && path != "/robots.txt" {
			t.Errorf("%s: %d requests", path, n)
		}
	}
}

// An id is above those of .urls, of .osestatus, and of files.
func TestNextID(t *testing.T) {
	s := serve(t, map[string]http.HandlerFunc{"/": html("x")})
	f := newFolder(t, s.URL+"/")
	list := append(folder.Record{ID: 6, Code: 200, Streamed: 1, Parsed: 1, URL: s.URL + "/6"}.Append(nil), folder.Record{URL: s.URL + "/"}.Append(nil)...)
	err := errors.Join(os.WriteFile(f.Path(folder.URLsName), list, 0o600), os.WriteFile(f.Path(folder.MetaName(7)), nil, 0o600), f.SetStatus(folder.Status{State: folder.Idle, LastID: 2}))
	if err != nil {
		t.Fatal(err)
	}
	c, talk := newCycle(t)
	if _, err := c.Do(t.Context(), f, Fetch); err != nil {
		t.Fatal(err)
	}
	status, _ := f.Status()
	if got := records(t, f)[s.URL+"/"]; got.ID != 8 || status.LastID != 8 || !strings.Contains(talk.String(), "id skipped") {
		t.Errorf("%+v, %s\n%s", got, status, talk)
	}
	list = append(folder.Record{ID: folder.MaxID, Code: 200, Streamed: 1, Parsed: 1, URL: s.URL + "/6"}.Append(nil), folder.Record{URL: s.URL + "/"}.Append(nil)...)
	if err := errors.Join(os.WriteFile(f.Path(folder.URLsName), list, 0o600), f.SetStatus(folder.Status{State: folder.Idle, LastID: folder.MaxID})); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(t.Context(), f, Fetch); err == nil || !strings.Contains(err.Error(), "has no id above") {
		t.Errorf("%v", err)
	}
}

// A list of 200,000 URLs passes all steps quickly: nothing depends on its square.
func TestLongList(t *testing.T) {
	s := serve(t, map[string]http.HandlerFunc{"/": html("<a href=/p/7><a href=/new>")})
	f := newFolder(t, s.URL+"/")
	list := folder.Record{URL: s.URL + "/"}.Append(nil)
	const n = 200_000
	for i := range n {
		list = folder.Record{ID: folder.ID(i + 1), Code: 200, Streamed: 1, Parsed: 1, URL: fmt.Sprint(s.URL, "/p/", i)}.Append(list)
	}
	if err := errors.Join(os.WriteFile(f.Path(folder.URLsName), list, 0o600), f.SetStatus(folder.Status{State: folder.Idle, LastID: n}), f.SetMerged(n)); err != nil {
		t.Fatal(err)
	}
	c, _ := newCycle(t)
	begin := time.Now()
	reports, err := c.Run(t.Context(), f)
	if err != nil || len(reports) != 3 || reports[0].Done != 1 || reports[1].Done != 1 || reports[2].Done != 1 || reports[2].URLs != n+2 {
		t.Fatalf("%+v, %v", reports, err)
	}
	t.Logf("a cycle in a list of %d URLs and %d bytes: %v", n, len(list), time.Since(begin))
	for _, r := range reports {
		t.Logf("%s %d ms", r.Step, r.Millis)
	}
}

// What a crash of the machine may leave: files without their data, and a next list that ends with NUL
// bytes. No page is taken that is not whole, no id is used twice, and no URL is lost. Without the next list
// all pages are taken.
func TestMachineCrash(t *testing.T) {
	s := serve(t, nil)
	var urls []string
	for i := range 6 {
		urls = append(urls, fmt.Sprint(s.URL, "/", i))
	}
	for name, c := range map[string]struct {
		tail   string // of the next list; "-": it is lost
		broken bool   // pages 3 and 4
		ids    string
		asked  int // further requests
	}{
		"nothing":      {"", false, "1 2 3 4 5 6", 1},
		"torn":         {"0000000003 404", false, "1 2 3 4 5 6", 1},
		"zeros":        {strings.Repeat("\x00", 9000), true, "1 2 6 7 8 9", 4},
		"torn, zeros":  {"0000000003" + strings.Repeat("\x00", 9000), false, "1 2 3 4 5 6", 1},
		"no next list": {"-", false, "1 2 3 4 5 6", 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t, urls[:5]...)
			cycle, _ := newCycle(t)
			if _, err := cycle.Do(t.Context(), f, Fetch); err != nil { // makes five pages
				t.Fatal(err)
			}
			list, err := os.ReadFile(f.Path(folder.URLsName))
			if err != nil {
				t.Fatal(err)
			}
			next := append(list[:2*(bytes.IndexByte(list, '\n')+1):2*(bytes.IndexByte(list, '\n')+1)], c.tail...)
			list = nil
			for _, u := range urls {
				list = folder.Record{URL: u}.Append(list)
			}
			err = errors.Join(os.WriteFile(f.Path(folder.URLsName), list, 0o600), f.SetStatus(folder.Status{State: folder.Fetching, LastID: 2}))
			if c.tail != "-" {
				err = errors.Join(err, os.WriteFile(f.Path(folder.Fetching.Next()), next, 0o600))
			}
			if c.broken {
				err = errors.Join(err, os.WriteFile(f.Path(folder.MetaName(3)), nil, 0o600), os.WriteFile(f.Path(folder.BodyName(4)), make([]byte, 9), 0o600))
			}
			if err != nil {
				t.Fatal(err)
			}
			before := len(s.times)
			if _, err := cycle.Run(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			var ids []string
			all := records(t, f)
			for _, u := range urls {
				ids = append(ids, fmt.Sprint(uint64(all[u].ID)))
			}
			if got := strings.Join(ids, " "); got != c.ids || len(s.times)-before != c.asked {
				t.Errorf("ids %s, %d requests", got, len(s.times)-before)
			}
		})
	}
}

// Whatever the next list is, the step continues and every URL gets an id of its own, or it refuses and the
// file stays as it is.
func FuzzNextList(f *testing.F) {
	s := httptest.NewServer(http.NotFoundHandler())
	f.Cleanup(s.Close)
	client := fetch.New(fetch.Config{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	f.Cleanup(client.Close)
	urls := []string{s.URL + "/a", s.URL + "/b"}
	record := string(folder.Record{ID: 1, Code: 404, Streamed: 1, URL: "HERE/a"}.Append(nil))
	for _, text := range []string{"", record, record[:30], record + record, record + "\x00\x00", "x\n", strings.Replace(record, "/a", "/b", 1)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ReplaceAll(text, "HERE", s.URL)
		dir := newFolder(t, urls...)
		if err := errors.Join(dir.SetStatus(folder.Status{State: folder.Fetching}), os.WriteFile(dir.Path(folder.Fetching.Next()), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		c := &Cycle{Web: plain{client}, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
		if _, err := c.Do(t.Context(), dir, Fetch); err != nil {
			if got, readErr := os.ReadFile(dir.Path(folder.Fetching.Next())); string(got) != text || !strings.Contains(err.Error(), ".urls2") {
				t.Errorf("%v, %v: %q, want %q", err, readErr, got, text)
			}
			return
		}
		ids := map[folder.ID]bool{}
		for _, r := range records(t, dir) {
			ids[r.ID] = true
		}
		if len(ids) != len(urls) || ids[0] {
			t.Errorf("%q: ids %v", text, ids)
		}
	})
}

// plain is a client without gates and robots.txt.
type plain struct{ *fetch.Client }

func (p plain) Get(ctx context.Context, r politeclient.Request) (*fetch.Response, error) {
	return p.Client.Get(ctx, fetch.Request{URL: r.URL})
}

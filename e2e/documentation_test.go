//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hce/dc/examples/siteserver/site"
	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/wire"
)

// documentation finds the folder of a Debian documentation package, installed or unpacked
// by scripts/setup.sh.
func documentation(t *testing.T, name string) string {
	t.Helper()
	for _, base := range []string{"/usr/share/doc", "../.cache/docs"} {
		dir := filepath.Join(base, name)
		if _, err := os.Stat(filepath.Join(dir, "index.html")); err == nil {
			return dir
		}
	}
	t.Fatalf("no documentation %s: run scripts/setup.sh test", name)
	return ""
}

// hce crawl of three documentation packages gives exactly the pages that a recursive wget fetches, with
// the md5 of the same bytes, and requests each once. Every HTML page is processed and has a title and a text.
func TestDocumentationIsComplete(t *testing.T) {
	docs := []struct {
		name, ip, dir string
		least         int // pages at least, to detect an empty folder
		w             *witness
		judged        map[string]string
	}{
		{name: "postgresql-doc-15", ip: "127.0.3.1", dir: "postgresql-doc-15/html", least: 1100},
		{name: "python3.11-doc", ip: "127.0.3.2", dir: "python3.11/html", least: 400},
		{name: "apache2-doc", ip: "127.0.3.3", dir: "apache2-doc/manual", least: 200},
	}
	folder := t.TempDir()
	data, table, raw := filepath.Join(folder, "hce"), filepath.Join(folder, "pages.jsonl"), filepath.Join(folder, "raw")
	args := []string{"crawl", "--data", data, loopback, "--delay", "0s", "--name", "docs", "--property", "HTML_REDIRECTS_MAX=0"}
	for i := range docs {
		d := &docs[i]
		d.w = newWitnessAt(t, d.ip, site.Handler(site.Options{Dir: documentation(t, d.dir)}))
		args = append(args, d.w.URL+"/")
	}
	crawl := startHCE(t, args...)
	// Meanwhile wget fetches the same folders from other servers.
	t.Run("wget", func(t *testing.T) {
		for i := range docs {
			d := &docs[i]
			t.Run(d.name, func(t *testing.T) {
				t.Parallel()
				d.judged = judge(t, newWitnessAt(t, d.ip, site.Handler(site.Options{Dir: documentation(t, d.dir)})), "")
			})
		}
	})
	crawl.end(t, 1) // the documentation has links to pages that are missing
	hce(t, 0, "export", "docs", "--data", data, "--format", "files", "--out", raw)
	hce(t, 0, "export", "docs", "--data", data, "--all", "--fields", "url,urlMd5,contentMd5,title,text,status,contentType", "--out", table)
	exported := exportedPages(t, table, raw)
	for _, d := range docs {
		t.Run(d.name, func(t *testing.T) {
			if len(d.judged) < d.least {
				t.Fatalf("wget found only %d pages", len(d.judged))
			}
			d.w.eachOnce(t)
			var differ []string
			for path, sum := range d.judged {
				if got := exported[d.w.URL+path]; got != sum {
					differ = append(differ, fmt.Sprintf("%s: md5 %q, wget got %q", path, got, sum))
				}
			}
			for url := range exported {
				if path, of := strings.CutPrefix(url, d.w.URL); of && d.judged[path] == "" {
					differ = append(differ, path+": wget did not get it")
				}
			}
			slices.Sort(differ)
			if len(differ) > 0 {
				t.Errorf("%d differences to the %d pages of wget:\n%s", len(differ), len(d.judged), strings.Join(differ[:min(len(differ), 20)], "\n"))
			}
		})
	}
}

// exportedPages reads an export of all rows, and returns the md5 of each page that has a file in an
// export of files, by URL.
func exportedPages(t *testing.T, table, raw string) map[string]string {
	t.Helper()
	files := map[string]bool{} // by the part of the key that is in the name
	err := filepath.WalkDir(raw, func(path string, entry os.DirEntry, err error) error {
		name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		_, key, _ := strings.Cut(name, "~")
		files[key] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for line := range strings.Lines(string(text)) {
		var page struct{ URL, URLMd5, ContentMd5, Title, Text, Status, ContentType string }
		if err := json.Unmarshal([]byte(line), &page); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if _, twice := pages[page.URL]; twice {
			t.Errorf("%s is exported twice", page.URL)
		}
		if !files[page.URLMd5[:16]] {
			continue
		}
		pages[page.URL] = page.ContentMd5
		if page.ContentType == "text/html" && (page.Status != "processed" || page.Title == "" || page.Text == "") {
			t.Errorf("%s: %s, title %q, %d bytes of text", page.URL, page.Status, page.Title, len(page.Text))
		}
	}
	return pages
}

// judge fetches everything with wget and returns the md5 of each page with code 200, by
// path.
func judge(t *testing.T, w *witness, first string) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), crawlLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "wget", "-q", "-r", "-l", "inf", "--no-parent", "-e", "robots=off", "-P", t.TempDir(), w.URL+"/"+first)
	if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != 8 { // 8: some pages are missing
		t.Fatalf("wget: %v\n%s", err, out)
	}
	// The crawler stores a page under the URL of the link (docs/spec/crawling.md 4.4), so
	// the target of a redirect is expected under the URL that redirects.
	got, redirects := map[string]string{}, map[string]string{}
	for _, v := range w.requests() {
		switch {
		case strings.HasPrefix(v.URL, "/robots.txt"):
		case v.Code == http.StatusOK:
			got[v.URL] = v.MD5
		case v.Location != "":
			redirects[v.URL] = v.Location
		}
	}
	for from, to := range redirects {
		if sum, ok := got[to]; ok {
			got[from] = sum
			delete(got, to)
		}
	}
	return got
}

func compare(t *testing.T, root string, judged map[string]string, crawled map[string]wire.URL) {
	t.Helper()
	var missing []string
	for path, sum := range judged {
		u, ok := crawled[root+path]
		switch {
		case !ok:
			missing = append(missing, path)
		case u.Crawled != 1 || u.HTTPCode != 200:
			t.Errorf("%s: crawled %d times, code %d, errors %v", path, u.Crawled, u.HTTPCode, u.ErrorMask.Names())
		case u.RawContentMd5 != sum && u.Size > 0:
			t.Errorf("%s: md5 %s, wget got %s", path, u.RawContentMd5, sum)
		}
	}
	for url, u := range crawled {
		if path := strings.TrimPrefix(url, root); u.HTTPCode == 200 && judged[path] == "" {
			t.Errorf("%s: wget did not get it", path)
		}
	}
	slices.Sort(missing)
	if len(missing) > 0 {
		t.Errorf("%d of %d pages are missing: %v", len(missing), len(judged), missing[:min(len(missing), 20)])
	}
}

// The example site has every kind of trouble. Each row gets a matching error bit, and no
// forbidden URL is requested.
func TestTroubleSetsErrorBits(t *testing.T) {
	t.Parallel()
	w := newWitness(t, site.Handler(site.Options{}))
	r := start(t, t.TempDir())
	id := newSite(t, r, rig.Site{Root: w.URL + "/", HTTPTimeout: 3000, MaxResourceSize: 8 << 20})
	finish(t, r, id)
	crawled := rows(t, r, id)
	found := 0
	for _, trouble := range site.Troubles() {
		u, ok := crawled[w.URL+trouble.Path]
		if !ok {
			continue
		}
		found++
		if !trouble.Fits(int64(u.ErrorMask)) {
			t.Errorf("%s (%s): errors %v", trouble.Path, trouble.What, u.ErrorMask.Names())
		}
	}
	if found < 20 {
		t.Errorf("only %d troubles were found", found)
	}
	for _, v := range w.requests() {
		if site.Forbidden(v.URL) {
			t.Errorf("%s was requested", v.URL)
		}
	}
	if u := crawled[w.URL+"/town/"]; u.Status != wire.StatusProcessed {
		t.Errorf("the town is not processed: %+v", u)
	}
}

//go:build e2e

package e2e

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hce/dc/examples/rig"
	"hce/dc/examples/siteserver/site"
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

// Every page that a recursive wget fetches has one row, is crawled and has the md5 of its
// body. Every HTML page is processed and has a title and a text.
func TestDocumentationIsComplete(t *testing.T) {
	for _, doc := range []struct {
		name  string
		dir   string
		least int // pages at least, to detect an empty folder
	}{
		{"postgresql-doc-15", "postgresql-doc-15/html", 1100},
		{"python3.11-doc", "python3.11/html", 400},
		{"apache2-doc", "apache2-doc/manual", 200},
	} {
		t.Run(doc.name, func(t *testing.T) {
			dir := documentation(t, doc.dir)
			w := newWitness(t, site.Handler(site.Options{Dir: dir}))
			judged := judge(t, w)
			if len(judged) < doc.least {
				t.Fatalf("wget found only %d pages", len(judged))
			}

			r := start(t, t.TempDir())
			id := newSite(t, r, rig.Site{Root: w.URL + "/", Properties: refreshIsALink})
			finish(t, r, id)
			crawled := rows(t, r, id)

			requested := map[string]int{}
			for _, v := range w.requests() {
				requested[v.URL]++
			}
			for url, n := range requested {
				if n > 1 && url != "/robots.txt" {
					t.Errorf("%s was requested %d times", url, n)
				}
			}
			compare(t, w.URL, judged, crawled)
			checkContents(t, r, id, crawled)
		})
	}
}

// refreshIsALink treats a meta refresh as a link, like wget. As a redirect, its target
// would be requested twice: for the page and for itself.
var refreshIsALink = map[string]string{"HTML_REDIRECTS_MAX": "0"}

// judge fetches everything with wget and returns the md5 of each page with code 200, by
// path.
func judge(t *testing.T, w *witness) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), crawlLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "wget", "-q", "-r", "-l", "inf", "--no-parent", "-e", "robots=off", "-P", t.TempDir(), w.URL+"/")
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
	slices.Sort(missing)
	if len(missing) > 0 {
		t.Errorf("%d of %d pages are missing: %v", len(missing), len(judged), missing[:min(len(missing), 20)])
	}
}

func checkContents(t *testing.T, r *rig.Rig, id string, crawled map[string]wire.URL) {
	t.Helper()
	var pages []rig.Row
	for _, u := range crawled {
		if u.ContentType != "text/html" || u.HTTPCode != 200 {
			continue
		}
		if u.Status != wire.StatusProcessed || u.Processed != 1 {
			t.Errorf("%s: status %d, processed %d times, errors %v", u.URL, u.Status, u.Processed, u.ErrorMask.Names())
			continue
		}
		pages = append(pages, rig.Row{URL: u.URL, MD5: u.URLMd5})
	}
	for batch := range slices.Chunk(pages, 200) {
		contents, err := r.Contents(t.Context(), id, batch)
		if err != nil {
			t.Fatal(err)
		}
		if len(contents) != len(batch) {
			t.Errorf("%d contents of %d pages", len(contents), len(batch))
		}
		for _, c := range contents {
			if c.Title == "" || c.Text == "" {
				t.Errorf("page %s: title %q, %d bytes of text", c.MD5, c.Title, len(c.Text))
			}
		}
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

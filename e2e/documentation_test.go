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

// documentation finds a Debian documentation folder, where dpkg put it or where
// scripts/setup.sh unpacked it.
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

// Real input: every page that a complete recursive wget fetches is in the URL
// table once, crawled, with the md5 of its body, and every HTML page is
// processed and has a title and a text.
func TestDocumentationIsCrawledWhole(t *testing.T) {
	for _, doc := range []struct {
		name string
		dir  string
		most int // pages at least, so that an empty folder proves nothing
	}{
		{"postgresql-doc-15", "postgresql-doc-15/html", 1100},
		{"python3.11-doc", "python3.11/html", 400},
		{"apache2-doc", "apache2-doc/manual", 200},
	} {
		t.Run(doc.name, func(t *testing.T) {
			dir := documentation(t, doc.dir)
			w := newWitness(t, site.Handler(site.Options{Dir: dir}))
			judged := judge(t, w)
			if len(judged) < doc.most {
				t.Fatalf("wget found only %d pages", len(judged))
			}

			r := start(t, t.TempDir())
			id := newSite(t, r, rig.Site{Root: w.URL + "/", Properties: refreshIsALink})
			finish(t, r, id)
			crawled := rows(t, r, id)

			asked := map[string]int{}
			for _, v := range w.requests() {
				asked[v.URL]++
			}
			for url, n := range asked {
				if n > 1 && url != "/robots.txt" {
					t.Errorf("%s was asked for %d times", url, n)
				}
			}
			compare(t, w.URL, judged, crawled)
			checkContents(t, r, id, crawled)
		})
	}
}

// refreshIsALink makes a meta refresh a link like any other, as it is to wget:
// followed like a redirect, its target would be asked for once for the page that
// refreshes, and once for itself.
var refreshIsALink = map[string]string{"HTML_REDIRECTS_MAX": "0"}

// judge lets wget fetch everything and gives path to md5 of what it got with
// code 200.
func judge(t *testing.T, w *witness) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), crawlLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "wget", "-q", "-r", "-l", "inf", "--no-parent", "-e", "robots=off", "-P", t.TempDir(), w.URL+"/")
	if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != 8 { // 8: some 404
		t.Fatalf("wget: %v\n%s", err, out)
	}
	// wget notes a redirect's target as a page of its own; here the page stands
	// under the URL that a link named (docs/spec/crawling.md 4.4). A target that no link names
	// is so the URL that leads to it.
	got, leads := map[string]string{}, map[string]string{}
	for _, v := range w.requests() {
		switch {
		case strings.HasPrefix(v.URL, "/robots.txt"):
		case v.Code == http.StatusOK:
			got[v.URL] = v.MD5
		case v.Location != "":
			leads[v.URL] = v.Location
		}
	}
	for from, to := range leads {
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
			t.Errorf("%d of %d contents are there", len(contents), len(batch))
		}
		for _, c := range contents {
			if c.Title == "" || c.Text == "" {
				t.Errorf("page %s: title %q, %d bytes of text", c.MD5, c.Title, len(c.Text))
			}
		}
	}
}

// The example site holds every kind of trouble; each row must carry a bit that
// fits, and nothing forbidden may be asked for.
func TestTroubleEndsInTheRightBit(t *testing.T) {
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
		t.Errorf("only %d troubles were met", found)
	}
	for _, v := range w.requests() {
		if site.Forbidden(v.URL) {
			t.Errorf("%s was asked for", v.URL)
		}
	}
	if u := crawled[w.URL+"/town/"]; u.Status != wire.StatusProcessed {
		t.Errorf("the town is not processed: %+v", u)
	}
}

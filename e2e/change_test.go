//go:build e2e

package e2e

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// One page changes, one disappears, one stays; then the site is deleted. Tables and
// folders have exactly the expected content.
func TestChangesAndDeletion(t *testing.T) {
	t.Parallel()
	content := tree(6)
	w := newWitness(t, content)
	data := t.TempDir()
	r := start(t, data)
	id := newSite(t, r, rig.Site{Root: w.URL + "/"})
	finish(t, r, id)
	before := rows(t, r, id)

	content.set("/p1.html", "<html lang=en><title>Changed</title><body><p>This page was changed after it had been crawled for the first time.</p></body></html>")
	content.set("/p2.html", "")
	again(t, r, id, before[w.URL+"/p1.html"], before[w.URL+"/p2.html"], before[w.URL+"/p3.html"])
	finish(t, r, id)
	after := rows(t, r, id)
	if len(after) != len(before) {
		t.Errorf("%d rows became %d", len(before), len(after))
	}

	changed, old := after[w.URL+"/p1.html"], before[w.URL+"/p1.html"]
	if changed.RawContentMd5 == old.RawContentMd5 || changed.Crawled != 2 || changed.Processed != 2 || changed.Status != wire.StatusProcessed {
		t.Errorf("changed page: %+v", changed)
	}
	if n := len(versions(t, r, id, changed.URLMd5)); n != 2 {
		t.Errorf("the changed page has %d versions, want 2", n)
	}
	contents, err := r.Contents(t.Context(), id, []rig.Row{{URL: changed.URL, MD5: changed.URLMd5}})
	if err != nil || len(contents) != 1 || contents[0].Title != "Changed" {
		t.Errorf("processed content of the changed page: %+v, %v", contents, err)
	}

	removed := after[w.URL+"/p2.html"]
	if removed.HTTPCode != 404 || removed.State != wire.URLError || removed.Status != wire.StatusCrawled || removed.ErrorMask&errormask.HTTP == 0 || removed.Crawled != 2 {
		t.Errorf("removed page: %+v", removed)
	}
	if n := len(versions(t, r, id, removed.URLMd5)); n != 1 {
		t.Errorf("the removed page has %d versions, want the old one", n)
	}

	same := after[w.URL+"/p3.html"]
	if same.RawContentMd5 != before[same.URL].RawContentMd5 || same.Crawled != 2 {
		t.Errorf("unchanged page: %+v", same)
	}
	if n := len(versions(t, r, id, same.URLMd5)); n != 1 {
		t.Errorf("the unchanged page has %d versions, want 1", n)
	}

	d := database(t, data)
	if n := number(t, d, `SELECT count(*) FROM "dc_urls.urls" WHERE Site_Id=?`, id); n != len(after) {
		t.Errorf("the table has %d rows, the service %d", n, len(after))
	}
	var answer wire.GeneralResponse
	if err := r.Ask(t.Context(), "SITE_DELETE", map[string]any{"id": id}, &answer); err != nil || answer.ErrorCode != 0 || answer.ErrorMessage != "OK" {
		t.Fatalf("SITE_DELETE: %+v, %v", answer, err)
	}
	for _, table := range []string{"dc_urls.urls", "dc_urls_deleted.urls", "dc_attributes.att", "dc_stat_freqs.freq", "dc_stat_logs.log",
		"dc_sites.sites_urls", "dc_sites.sites_filters", "dc_sites.sites_properties", "dc_sites.raw_records"} {
		if n := number(t, d, `SELECT count(*) FROM "`+table+`" WHERE Site_Id=?`, id); n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
	if n := number(t, d, `SELECT count(*) FROM "dc_sites.sites" WHERE Id=?`, id); n != 0 {
		t.Error("the site's row is left")
	}
	if _, err := os.Stat(filepath.Join(data, "dc_rdata", id)); !os.IsNotExist(err) {
		t.Errorf("the raw folder is left: %v", err)
	}
	for _, name := range files(t, filepath.Join(data, "dc_dbdata")) {
		if strings.HasPrefix(name, id) {
			t.Errorf("%s is left", name)
		}
	}
	var site wire.Site
	if err := r.Ask(t.Context(), "SITE_STATUS", map[string]any{"id": id}, &site); err != nil || site.State != wire.SiteNotFound {
		t.Errorf("SITE_STATUS of a deleted site: state %d, %v", site.State, err)
	}
}

// again sets rows to New with URL_UPDATE.
func again(t *testing.T, r *rig.Rig, id string, urls ...wire.URL) {
	t.Helper()
	var list []any
	for _, u := range urls {
		if u.URLMd5 == "" {
			t.Fatal("a page was not crawled")
		}
		list = append(list, map[string]any{"siteId": id, "urlMd5": u.URLMd5, "status": wire.StatusNew, "state": wire.URLEnabled})
	}
	var answer wire.GeneralResponse
	if err := r.Ask(t.Context(), "URL_UPDATE", list, &answer); err != nil {
		t.Fatal(err)
	}
}

// versions returns the raw contents of a page, oldest first.
func versions(t *testing.T, r *rig.Rig, id, md5 string) [][]byte {
	t.Helper()
	return versionsOf(t, r, id, md5)[md5]
}

// versionsOf is versions for many pages, by key.
func versionsOf(t *testing.T, r *rig.Rig, id string, md5s ...string) map[string][][]byte {
	t.Helper()
	found := map[string][][]byte{}
	for part := range slices.Chunk(md5s, 100) {
		var request []any
		for _, md5 := range part {
			request = append(request, map[string]any{"siteId": id, "url": "", "urlMd5": md5, "contentTypeMask": wire.MaskRaw | wire.MaskRawAll})
		}
		var answers []struct{ RawContents []wire.Content }
		if err := r.Ask(t.Context(), "URL_CONTENT", request, &answers); err != nil || len(answers) != len(part) {
			t.Fatalf("%d answers to %d requests, %v", len(answers), len(part), err)
		}
		for i, answer := range answers {
			for _, c := range answer.RawContents {
				data, err := base64.StdEncoding.DecodeString(c.Buffer)
				if err != nil {
					t.Fatal(err)
				}
				found[part[i]] = append(found[part[i]], data)
			}
		}
	}
	return found
}

package storage

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
)

// SITE_UPDATE removes the contents of root URLs that it replaces, and keeps contents that
// are stored later.
func TestSiteUpdateRemovesContentsOfRoots(t *testing.T) {
	n := withPage(t)
	n.fill()
	rootMd5 := wire.Md5(root)
	put := func() {
		stage := n.Raw.Stage()
		n.must(stage.Put(site, rootMd5, n.now, rawfiles.Raw, []byte("raw")))
		n.must(stage.Commit(n.t.Context()))
		_, err := n.Contents.PutAll(t.Context(), site, []wire.Entry{{ID: rootMd5, Data: []byte(`{"internal":[],"custom":["x"]}`)}})
		n.must(err)
	}
	stored := func(md5 string) (raw, processed bool) {
		_, raw, err := n.Raw.Newest(t.Context(), site, md5, rawfiles.Raw)
		n.must(err)
		entries := n.run(fmt.Sprintf(`["URL_CONTENT",[{"siteId":%q,"url":"","urlMd5":%q,"contentTypeMask":1}]]`, site, md5))
		return raw, !strings.Contains(entries, `"processedContents":[]`)
	}
	put()
	if raw, processed := stored(rootMd5); !raw || !processed {
		t.Fatalf("before: raw %v, processed %v", raw, processed)
	}
	n.good(fmt.Sprintf(`["SITE_UPDATE",{"id":%q,"updateType":1,"urls":[%q]}]`, site, root))
	if raw, processed := stored(rootMd5); raw || processed {
		t.Errorf("after: raw %v, processed %v", raw, processed)
	}
	if raw, processed := stored(md5); !raw || !processed {
		t.Errorf("the page: raw %v, processed %v", raw, processed)
	}
	// So does siteUpdate of URL_FETCH, with its masks.
	put()
	n.good(fmt.Sprintf(`["URL_FETCH",[{"sitesList":[%q],"siteUpdate":{"updateType":1,"_urlNormalizeMask":4,"urls":["HTTP://fetched.test"]}}]]`, site))
	if raw, processed := stored(rootMd5); raw || processed {
		t.Errorf("after a fetch: raw %v, processed %v", raw, processed)
	}
	if answer := n.good(fmt.Sprintf(`["SITE_STATUS",{"id":%q}]`, site)); !strings.Contains(answer, `"url":"http://fetched.test/"`) {
		t.Errorf("the site %s", answer)
	}
	n.good(fmt.Sprintf(`["SITE_UPDATE",{"id":%q,"updateType":1,"urls":[%q]}]`, site, root))
	n.now = n.now.Add(time.Minute)
	put()
	n.good(fmt.Sprintf(`["SITE_UPDATE",{"id":%q,"description":"x"}]`, site))
	if raw, processed := stored(rootMd5); !raw || !processed {
		t.Errorf("stored later: raw %v, processed %v", raw, processed)
	}
}

func TestSiteDeleteLeavesNothing(t *testing.T) {
	n := withPage(t)
	n.fill()
	n.good(`["SITE_NEW",{"id":"other","urls":["http://other.test/"]}]`)
	if rows := n.left(); len(rows) < 3 {
		t.Fatalf("before: rows %v", rows)
	}
	n.good(fmt.Sprintf(`["SITE_DELETE",{"id":%q}]`, site))
	if rows := n.left(); len(rows) != 0 {
		t.Errorf("rows %v", rows)
	}
	for _, name := range append(filesBelow(t, n.raw), filesBelow(t, n.keys)...) {
		if strings.Contains(name, site) {
			t.Errorf("%s is left", name)
		}
	}
	if answer := n.good(`["SITE_STATUS",{"id":"other"}]`); !strings.Contains(answer, `"state":1`) {
		t.Errorf("the other site: %s", answer)
	}
	// A new site with the same id starts empty.
	n.good(fmt.Sprintf(`["SITE_NEW",{"id":%q,"urls":[%q]}]`, site, root))
	if got := n.content(1 + 1024 + 8); len(got.RawContents) != 0 || len(got.ProcessedContents) != 0 {
		t.Errorf("contents %+v", got)
	}
}

func TestSiteDeleteDelayedKeepsContents(t *testing.T) {
	n := withPage(t)
	n.fill()
	n.good(fmt.Sprintf(`["SITE_DELETE",{"id":%q,"delayedType":0}]`, site))
	if v, ok, err := n.Raw.Newest(t.Context(), site, md5, rawfiles.Raw); err != nil || !ok {
		t.Errorf("raw content %v, %v after a delayed deletion", v, err)
	}
}

func TestSiteCleanupKeepsTheSite(t *testing.T) {
	n := withPage(t)
	n.fill()
	n.good(fmt.Sprintf(`["SITE_CLEANUP",{"id":%q}]`, site))
	status := n.good(fmt.Sprintf(`["SITE_STATUS",{"id":%q}]`, site))
	for _, want := range []string{`"state":1`, `"newURLs":1`, `"resources":0`, `"url":"` + root + `"`} {
		if !strings.Contains(status, want) {
			t.Errorf("no %s in %s", want, status)
		}
	}
	if got := n.content(1 + 1024 + 8); len(got.RawContents) != 0 || len(got.ProcessedContents) != 0 {
		t.Errorf("contents %+v", got)
	}
	for _, name := range filesBelow(t, n.raw) {
		if strings.Contains(name, md5[2:]) {
			t.Errorf("%s is left", name)
		}
	}
	n.fill() // the key-value file can be written again (docs/spec/storage.md 3.1)
}

// A site is created although the file for its contents cannot be: the first content tries again. An
// error would be repeated by the journal of a cluster, and answered as a duplicate.
func TestNewSiteWithoutRoomForContents(t *testing.T) {
	n := newNode(t)
	r, err := wire.ReadSiteNew(json.RawMessage(`{"urls":["http://new.example/"],"description":"new"}`), &lenient.Notes{})
	n.must(err)
	if err := r.Normalize("Site", canonicalRoot); err != nil {
		t.Fatal(err)
	}
	n.must(os.Mkdir(filepath.Join(n.keys, r.ID+".db"), 0o700))
	for _, want := range []int{wire.CodeOK, wire.CodeDuplicateSite} {
		answer, err := n.siteNew(t.Context(), r)
		if got, _ := answer.(wire.GeneralResponse); err != nil || got.ErrorCode != want {
			t.Errorf("%+v, %v; want %d", answer, err, want)
		}
	}
}

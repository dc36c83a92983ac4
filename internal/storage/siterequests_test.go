package storage

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/wire"
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
		n.must(stage.Commit())
		_, err := n.Contents.PutAll(t.Context(), site, []wire.Entry{{ID: rootMd5, Data: []byte(`{"internal":[],"custom":["x"]}`)}})
		n.must(err)
	}
	stored := func(md5 string) (raw, processed bool) {
		_, raw, err := n.Raw.Newest(site, md5, rawfiles.Raw)
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

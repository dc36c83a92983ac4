package crawl_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"hce/dc/internal/wire"
)

// TestDetectModified: the conditional request for a known page, and its effect on the row.
func TestDetectModified(t *testing.T) {
	const (
		body   = `<a href="/found">old</a>`
		etag   = `"v1"`
		before = "2024-05-17 10:00:00"
	)
	changed := time.Date(2024, 5, 17, 10, 0, 0, 0, time.UTC)
	tagged := func(w http.ResponseWriter, r *http.Request) bool { return r.Header.Get("If-None-Match") == etag }
	dated := func(w http.ResponseWriter, r *http.Request) bool {
		at, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
		return err == nil && !changed.After(at)
	}
	// Each server answers 304 if its condition holds, otherwise the page with that body.
	serve := func(holds func(http.ResponseWriter, *http.Request) bool, modified time.Time, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if !modified.IsZero() {
				w.Header().Set("Last-Modified", modified.Format(http.TimeFormat))
			}
			if holds != nil && holds(w, r) {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Length", fmt.Sprint(len(text)))
			if r.Method != http.MethodHead {
				fmt.Fprint(w, text)
			}
		}
	}
	var (
		byTag    = serve(tagged, time.Time{}, "new page")
		byDate   = serve(dated, time.Time{}, "new page")
		plain    = serve(nil, time.Time{}, body)
		same     = serve(nil, changed, body)
		newer    = serve(nil, changed.Add(time.Hour), "new page")
		sameSize = serve(nil, changed.Add(time.Hour), `<a href="/found">new</a>`)
		noServer = func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
		both     = serve(func(w http.ResponseWriter, r *http.Request) bool { return tagged(w, r) && dated(w, r) }, time.Time{}, "new page")
	)
	const tag, date, two, head = "GET tag", "GET date", "GET tag date", "HEAD"
	for _, tt := range []struct {
		name, rule string
		server     http.HandlerFunc
		row        func(*wire.URL)
		asked      []string
		same       bool
		code       int64
	}{
		{"both", `{"algorithm": 0, "mode": 1}`, both, nil, []string{two}, true, 304},
		{"mode is one request by default", `{"algorithm": 0}`, both, nil, []string{two}, true, 304},
		{"both, the server knows neither", `{"algorithm": 0, "mode": 1}`, newer, nil, []string{two}, false, 200},
		{"tag", `{"algorithm": 1, "mode": 1}`, byTag, nil, []string{tag}, true, 304},
		{"tag has changed", `{"algorithm": 1, "mode": 1}`, byTag, func(u *wire.URL) { u.ETag = "v0" }, []string{tag}, false, 200},
		{"no tag", `{"algorithm": 1, "mode": 2}`, byTag, func(u *wire.URL) { u.ETag = "" }, []string{"GET"}, false, 200},
		{"date", `{"algorithm": 2, "mode": 1}`, byDate, nil, []string{date}, true, 304},
		{"date has changed", `{"algorithm": 2, "mode": 1}`, byDate, func(u *wire.URL) { u.LastModified = "2024-05-16 10:00:00" }, []string{date}, false, 200},
		{"second request", `{"algorithm": 0, "mode": 2}`, newer, nil, []string{two, "GET"}, false, 200},
		{"no second request", `{"algorithm": 0, "mode": 2}`, both, nil, []string{two}, true, 304},
		{"head", `{"algorithm": 3, "mode": 2}`, plain, nil, []string{head, "GET"}, false, 200},
		{"head brings no page by itself", `{"algorithm": 3, "mode": 1}`, plain, nil, []string{head, "GET"}, false, 200},
		{"head, same date", `{"algorithm": 3, "mode": 2, "compare": 1}`, same, nil, []string{head}, true, 200},
		{"head, newer", `{"algorithm": 3, "mode": 2, "compare": 1}`, newer, nil, []string{head, "GET"}, false, 200},
		{"head, same length", `{"algorithm": 3, "mode": 2, "compare": 3}`, sameSize, nil, []string{head}, true, 200},
		{"head, other length", `{"algorithm": 3, "mode": 2, "compare": 3}`, newer, nil, []string{head, "GET"}, false, 200},
		{"head, same content", `{"algorithm": 3, "mode": 2, "compare": 2}`, plain, nil, []string{head, "GET"}, true, 200},
		{"date of the answer", `{"algorithm": 1, "mode": 1, "compare": 1}`, same, nil, []string{tag}, true, 200},
		{"date of the answer is newer", `{"algorithm": 1, "mode": 1, "compare": 1}`, newer, nil, []string{tag}, false, 200},
		{"content", `{"algorithm": 1, "mode": 1, "compare": 2}`, plain, nil, []string{tag}, true, 200},
		{"other content", `{"algorithm": 1, "mode": 1, "compare": 2}`, sameSize, nil, []string{tag}, false, 200},
		{"length", `{"algorithm": 1, "mode": 1, "compare": 3}`, sameSize, nil, []string{tag}, true, 200},
		{"other length", `{"algorithm": 1, "mode": 1, "compare": 3}`, newer, nil, []string{tag}, false, 200},
		{"content, twice", `{"algorithm": 1, "mode": 2, "compare": 2}`, sameSize, nil, []string{tag, "GET"}, false, 200},
		{"off", `{"algorithm": 0, "mode": 0}`, plain, nil, []string{"GET"}, false, 200},
		{"never crawled", `{"algorithm": 0, "mode": 2, "compare": 2}`, both, func(u *wire.URL) { u.Crawled = 0 }, []string{"GET"}, false, 200},
		{"never crawled, head", `{"algorithm": 3, "mode": 2}`, plain, func(u *wire.URL) { u.Crawled = 0 }, []string{"GET"}, false, 200},
		{"a form", `{"algorithm": 0, "mode": 1}`, plain, func(u *wire.URL) { u.HTTPMethod = "post" }, []string{"POST"}, false, 200},
		{"an error is no page that has not changed", `{"algorithm": 1, "mode": 1, "compare": 3}`, noServer, func(u *wire.URL) { u.Size = 0 }, []string{tag}, false, 500},
		{"an error, to head", `{"algorithm": 3, "mode": 2, "compare": 3}`, noServer, func(u *wire.URL) { u.Size = 0 }, []string{head, "GET"}, false, 500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked []string
			s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				what := r.Method
				if r.Header.Get("If-None-Match") != "" {
					what += " tag"
				}
				if r.Header.Get("If-Modified-Since") != "" {
					what += " date"
				}
				asked = append(asked, what)
				tt.server(w, r)
			})
			w := newWorld(t)
			w.addSite("s", "DETECT_MODIFIED", tt.rule)
			it := w.item("s", s.URL+"/page", func(u *wire.URL) {
				u.Crawled, u.ETag, u.LastModified, u.RawContentMd5, u.Size = 1, "v1", before, wire.Md5(body), int64(len(body))
				u.MRate, u.MRateCounter, u.UDate, u.RequestDelay = 1, 1, before, 5
				if tt.row != nil {
					tt.row(u)
				}
			})
			wasCrawled := it.URL.Crawled
			answer := w.run(batchOf(it))
			row := w.row(it)
			if !slices.Equal(asked, tt.asked) {
				t.Errorf("asked %q", asked)
			}
			if row.HTTPCode != tt.code || row.Crawled != wasCrawled+1 {
				t.Errorf("code %d, crawled %d, %s", row.HTTPCode, row.Crawled, bitNames(row.ErrorMask))
			}
			if tt.code == 500 {
				return
			}
			rate := 1.0
			if tt.same {
				rate = 0.5
			}
			if row.MRate != rate || row.MRateCounter != 2 || row.ErrorMask != 0 || row.Status != wire.StatusCrawled {
				t.Errorf("rate %v of %d, %s, status %d", row.MRate, row.MRateCounter, bitNames(row.ErrorMask), row.Status)
			}
			kept, links := w.file(it, wire.ContentRaw) == "", len(w.links(it)) == 0
			if tt.same && (!kept || !links || row.UDate != before || row.RawContentMd5 != wire.Md5(body) || row.ETag != "v1") || !tt.same && (kept || row.UDate == before) {
				t.Errorf("files kept %t, no links %t, UDate %s, ETag %q", kept, links, row.UDate, row.ETag)
			}
			if len(answer.Items) != 1 || answer.Items[0].URL.Status != wire.StatusCrawled {
				t.Errorf("answer %+v", answer.Items)
			}
			s.checkGaps(t, 5*time.Millisecond)
		})
	}
}

// TestUnchangedRows: the effect of DETECT_MODIFIED on the row of an unchanged page.
func TestUnchangedRows(t *testing.T) {
	const before = "2024-05-17 10:00:00"
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotModified) })
	for _, tt := range []struct {
		name      string
		behavior  int
		processed int64
		status    int64
		kept      bool
	}{
		{"keep", 0, 1, wire.StatusCrawled, true},
		{"crawled", 1, 1, wire.StatusCrawled, true},
		{"processed", 2, 1, wire.StatusProcessed, true},
		{"processed, without contents", 2, 0, wire.StatusCrawled, true},
		{"date is now", 3, 1, wire.StatusCrawled, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.addSite("s", "DETECT_MODIFIED", fmt.Sprintf(`{"algorithm": 1, "behavior": %d}`, tt.behavior))
			it := w.item("s", s.URL+"/page", func(u *wire.URL) {
				u.Crawled, u.ETag, u.UDate, u.TcDate, u.Processed, u.ContentType = 3, "v1", before, before, tt.processed, "text/html"
			})
			answer := w.run(batchOf(it))
			row := w.row(it)
			if row.Status != tt.status || (row.UDate == before) != tt.kept || row.TcDate == before || row.HTTPCode != 304 || row.ContentType != "text/html" {
				t.Errorf("%+v", row)
			}
			if len(answer.Items) != 1 || answer.Items[0].URL.Status != tt.status || answer.Items[0].URL.UDate != row.UDate {
				t.Errorf("answer %+v", answer.Items)
			}
		})
	}
}

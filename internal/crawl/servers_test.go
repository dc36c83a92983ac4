package crawl_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// An answer that says "not modified" or "a part" without having been asked is no page.
func TestUnaskedAnswers(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/304":
			w.WriteHeader(http.StatusNotModified)
		case "/206":
			w.Header().Set("Content-Range", "bytes 0-3/100")
			w.WriteHeader(http.StatusPartialContent)
			fmt.Fprint(w, "<p>a")
		default:
			fmt.Fprint(w, "<p>page")
		}
	})
	crawled := func(u *wire.URL) { u.Crawled, u.RawContentMd5 = 1, wire.Md5([]byte("<p>old")) }
	for _, c := range []struct {
		name, path, rule string
		row              func(*wire.URL)
		want             errormask.Mask
	}{
		{"304, new", "/304", "", func(*wire.URL) {}, errormask.FetchHTTP},
		{"206, new", "/206", "", func(*wire.URL) {}, errormask.FetchHTTP},
		{"304, known, without validators", "/304", `{"algorithm":0,"mode":1}`, crawled, errormask.FetchHTTP},
		{"304, known, with an ETag", "/304", `{"algorithm":0,"mode":1}`, func(u *wire.URL) { crawled(u); u.ETag = "x" }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.addSite("s", "DETECT_MODIFIED", c.rule)
			it := w.item("s", s.URL+c.path, c.row)
			w.run(batchOf(it))
			if row := w.row(it); row.ErrorMask != c.want || w.file(it, wire.ContentRaw) != "" {
				t.Errorf("%s, code %d, raw %q", bitNames(row.ErrorMask), row.HTTPCode, w.file(it, wire.ContentRaw))
			}
		})
	}
}

// Links of a page in a legacy charset have their query in that charset, and their path in UTF-8.
func TestQueryInPageCharset(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=windows-1251")
		// All references are to the letter Zhe.
		fmt.Fprint(w, "<a href='/\xc6?a=\xc6'>a</a><img srcset='/b?\xc6 2x'><form action='/c?\xc6'></form><iframe src='/d?&#1046;'></iframe><link rel=canonical href='/e?\xc6'>")
	})
	w := newWorld(t)
	w.addSite("s")
	it := w.item("s", s.URL+"/")
	w.run(batchOf(it))
	want := []string{"/%D0%96?a=%C6", "/b?%C6", "/c?%C6", "/d?%C6", "/e?%C6"}
	for i := range want {
		want[i] = s.URL + want[i]
	}
	if got := w.links(it); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

package crawl_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A request has the escapes and slashes of its link, and no fragment.
func TestRequestsAreAsWritten(t *testing.T) {
	for _, c := range []struct{ name, link, want string }{
		{"escape of an unreserved character", "/%7Ea", "/%7Ea"},
		{"lower-case escape", "/%c3%a9", "/%c3%a9"},
		{"raw character", "/é", "/%C3%A9"},
		{"lower-case escape in a query", "/?q=%e3%81%82&r=%7e", "/?q=%e3%81%82&r=%7e"},
		{"escaped slash", "/a%2fb", "/a%2fb"},
		{"percent sign in a query", "/?q=100%&r=%zz", "/?q=100%&r=%zz"},
		{"percent sign in a path, which net/http cannot send", "/100%", "/100%25"},
		{"empty segments", "/a//b///c//", "/a//b///c//"},
		{"empty first segment", "./" + "/x", "//x"},
		{"hash-bang fragment", "/page#!state=1", "/page"},
		{"fragment", "/page2#part", "/page2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var mu sync.Mutex
			var asked []string
			s := newServer(t, func(rw http.ResponseWriter, r *http.Request) {
				mu.Lock()
				asked = append(asked, r.RequestURI)
				mu.Unlock()
				if r.RequestURI == "/" {
					page(rw, `<a href="`+c.link+`">x</a>`)
					return
				}
				page(rw, "text")
			})
			w := newWorld(t)
			w.addSite("s")
			b := batchOf(w.item("s", s.URL+"/"))
			b.MaxIterations, b.Items[0].Depth = 2, 1
			w.run(b)
			if want := []string{"/", c.want}; !slices.Equal(asked, want) {
				t.Errorf("requests %q, want %q", asked, want)
			}
			for _, u := range w.URLs {
				if strings.Contains(u.URL, "#") {
					t.Errorf("row %q", u.URL)
				}
			}
		})
	}
}

// Links that differ only in their escapes are one row. It has the text of the first one.
func TestEscapesOfLinksAreOneRow(t *testing.T) {
	s := newServer(t, func(rw http.ResponseWriter, r *http.Request) {
		page(rw, `<a href="/%c3%a9">1</a><a href="/é">2</a><a href="/%C3%A9">3</a><a href="/~a">4</a><a href="/%7Ea">5</a>
<a href="/%7ea?q=%2f">6</a><a href="/~a?q=%2F">7</a><a href="/a/b">8</a><a href="/a%2fb">9</a><a href="/a//b">10</a><a href="/%257Ea">11</a>`)
	})
	w := newWorld(t)
	w.addSite("s")
	it := w.item("s", s.URL+"/")
	w.run(batchOf(it))
	want := []string{"/%c3%a9", "/~a", "/%7ea?q=%2f", "/a/b", "/a%2fb", "/a//b", "/%257Ea"}
	for i := range want {
		want[i] = s.URL + want[i]
	}
	if got := w.links(it); !slices.Equal(got, want) {
		t.Errorf("links %q, want %q", got, want)
	}
	if row := w.row(it); row.LinksI != int64(len(want)) {
		t.Errorf("LinksI %d, want %d", row.LinksI, len(want))
	}
}

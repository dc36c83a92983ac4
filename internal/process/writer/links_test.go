package writer

import (
	"testing"

	"hce/dc/canonical"
	"hce/dc/internal/web/charset"
)

// TestAppend: an address is what a browser makes of a reference, and what the crawler requests.
func TestAppend(t *testing.T) {
	for _, tt := range []struct{ name, page, base, charset, ref, want string }{
		{"a bare percent sign in the page", "http://h.example/100%-sure/a.html", "", "", "b.html", "http://h.example/100%-sure/b.html"},
		{"from the root", "http://h.example/100%-sure/a.html", "", "", "/c", "http://h.example/c"},
		{"one folder up", "http://h.example/100%-sure/x/a.html", "", "", "../b.html", "http://h.example/100%-sure/b.html"},
		{"up, down and up again", "http://h.example/a/b/c.html", "", "", "../x/../y", "http://h.example/a/y"},
		{"here, down and up", "http://h.example/a/b/c.html", "", "", "./x/../y", "http://h.example/a/b/y"},
		{"two folders up, without a slash", "http://h.example/a/b/c/d.html", "", "", "../..", "http://h.example/a/"},
		{"a query", "http://h.example/100%/a.html?x=1", "", "", "?y=2", "http://h.example/100%/a.html?y=2"},
		{"the page itself", "http://h.example/100%/a.html?x=1", "", "", "#part", "http://h.example/100%/a.html?x=1#part"},
		{"a bare percent sign in the link", "http://h.example/a/", "", "", "50% off.html#100%", "http://h.example/a/50%%20off.html#100%"},
		{"an escape", "http://h.example/a%20b/c", "", "", "d%2Fe", "http://h.example/a%20b/d%2Fe"},
		{"a base element", "http://h.example/a/b", "/100%/", "", "c", "http://h.example/100%/c"},
		{"a page without a path", "http://h.example", "", "", "c", "http://h.example/c"},
		{"a query of a legacy page", "http://h.example/a", "", "windows-1251", "/s?q=привет#да", "http://h.example/s?q=%EF%F0%E8%E2%E5%F2#%D0%B4%D0%B0"},
		{"a query in UTF-8", "http://h.example/a", "", "utf-8", "/s?q=é", "http://h.example/s?q=%C3%A9"},
		{"a path of a legacy page", "http://h.example/a", "", "windows-1252", "/é", "http://h.example/%C3%A9"},
		{"another scheme", "http://h.example/a", "", "", "mailto:x@h.example", ""},
		{"without an address of the page", "", "", "", "b.html", ""},
		{"absolute without an address of the page", "", "", "", "http://h.example/50%/b", "http://h.example/50%/b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := NewBase(tt.page, []byte(tt.base), tt.charset)
			got, ok := b.Append(nil, []byte(tt.ref), true)
			if string(got) != tt.want || ok != (tt.want != "") {
				t.Errorf("%q, %v, want %q", got, ok, tt.want)
			}
			crawled, err := canonical.Web.Resolve(b.URL(), charset.EncodeQuery(tt.ref, tt.charset))
			if plain, _ := b.Append(nil, []byte(tt.ref), false); err == nil && string(plain) != canonical.WithoutFragment(crawled) {
				t.Errorf("%q, but the crawler requests %q", plain, crawled)
			}
		})
	}
}

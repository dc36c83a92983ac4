package cookies

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Cookies that another machine takes are sent by it, unless it has later ones. Expired and removed ones
// do not come back.
func TestMove(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	open := func(dir string) *Jars { return Open(dir, Options{Now: func() time.Time { return now }}) }
	from, to := t.TempDir(), t.TempDir()
	u, _ := url.Parse("http://www.example.com/")
	set := func(dir, site string, lines ...string) {
		t.Helper()
		js := open(dir)
		js.Site(site).SetCookies(u, http.Header{"Set-Cookie": lines}, now)
		if err := js.Save(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	sent := func(dir, site string) string { return open(dir).Site(site).Header(Property{}, u, Page, now) }
	move := func() (list []Kept) {
		t.Helper()
		list, left, err := open(from).All()
		if err != nil || left > 0 {
			t.Fatal(left, err)
		}
		for range 2 {
			if err := open(to).Take(t.Context(), list); err != nil {
				t.Fatal(err)
			}
		}
		return list
	}
	if list := move(); list == nil || len(list) > 0 {
		t.Errorf("no folder: %v", list)
	}
	set(from, "s", "a=1; Max-Age=1000", "b=1; Max-Age=10", "wide=1; Domain=example.com; Max-Age=1000")
	set(from, "z", "c=1; Max-Age=1000")
	now = now.Add(time.Minute) // b is over
	set(to, "s", "a=2; Max-Age=1000", "d=2; Max-Age=1000")
	move()
	if a, c := sent(to, "s"), sent(to, "z"); a != "wide=1; a=2; d=2" || c != "c=1" {
		t.Errorf("%q, %q", a, c)
	}
	now = now.Add(time.Minute)
	set(from, "s", "a=; Max-Age=0", "d=3; Max-Age=1000")
	move()
	if a := sent(to, "s"); a != "wide=1; d=3" {
		t.Errorf("%q", a)
	}

	set(from, "large", "x="+strings.Repeat("x", 4000)+"; Max-Age=1000")
	list := move()
	if len(list) != 5 {
		t.Errorf("%d cookies", len(list))
	}
}

package web

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// linkTraps are endless webs: each page is valid and leads to more.
func linkTraps() []Trap {
	return []Trap{
		{Path: "/trap/calendar", What: "a calendar: each month links to the one before and after, for ever", serve: serveCalendar},
		{Path: "/trap/session", What: "a new session id in every link of every page", serve: serveSession},
		{Path: "/trap/grow/", What: "relative links that make the path longer with each step", serve: serveGrowing},
		{Path: "/trap/facets", What: "a shop with twelve filters in any order and combination", serve: serveFacets},
		{Path: "/trap/random/", What: "names made at random, each page with ten more", serve: serveRandomLinks},
	}
}

func serveCalendar(w http.ResponseWriter, r *http.Request) {
	month, err := time.Parse("2006-01", r.FormValue("month"))
	if err != nil {
		month = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	link := func(t time.Time) string { return "/trap/calendar?month=" + t.Format("2006-01") }
	var days strings.Builder
	for d := month; d.Month() == month.Month(); d = d.AddDate(0, 0, 1) {
		fmt.Fprintf(&days, `<a href="/trap/calendar?month=%s&amp;day=%d">%d</a> `, d.Format("2006-01"), d.Day(), d.Day())
	}
	serveText(htmlUTF8, fmt.Sprintf(`<!DOCTYPE html><title>%s</title><h1>What happens in %[1]s</h1><p>Nothing happens in this month.</p><a href="%s">before</a> <a href="%s">after</a> <p>%s</p>`,
		month.Format("January 2006"), link(month.AddDate(0, -1, 0)), link(month.AddDate(0, 1, 0)), days.String()))(w, r)
}

func serveSession(w http.ResponseWriter, r *http.Request) {
	id := hashOf(r.URL.RequestURI() + time.Now().String())
	serveText(htmlUTF8, fmt.Sprintf(`%s<a href="/trap/session?PHPSESSID=%x">home</a> <a href="/trap/session;jsessionid=%x?page=2">next</a>`, doc, id, id))(w, r)
}

func serveGrowing(w http.ResponseWriter, r *http.Request) {
	serveText(htmlUTF8, doc+`<a href="more/">more</a> <a href="again/and/again/">again</a> <a href="../grow/grow/">grow</a>`)(w, r)
}

func serveFacets(w http.ResponseWriter, r *http.Request) {
	q := r.URL.RawQuery
	if len(q) > 2000 {
		q = ""
	}
	var links strings.Builder
	for i := range 12 {
		fmt.Fprintf(&links, `<a href="/trap/facets?%s&amp;f%d=%d">filter</a> `, strings.ReplaceAll(q, `"`, ""), i, len(q)%7)
	}
	serveText(htmlUTF8, doc+links.String())(w, r)
}

func serveRandomLinks(w http.ResponseWriter, r *http.Request) {
	var links strings.Builder
	for i := range 10 {
		fmt.Fprintf(&links, `<a href="/trap/random/%x.html">x</a> `, hashOf(r.URL.Path+strconv.Itoa(i)))
	}
	serveText(htmlUTF8, doc+links.String())(w, r)
}

func hashOf(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

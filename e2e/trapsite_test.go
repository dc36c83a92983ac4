//go:build e2e

package e2e

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// trapSite is a site with the traps of real software, and with pages that only look like them.
type trapSite struct{ sessions atomic.Int64 }

// words are n words that no other name has.
func trapWords(name string, n int) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	x, list := h.Sum64(), make([]string, n)
	for i := range list {
		x = x*6364136223846793005 + 1442695040888963407
		list[i] = strconv.FormatUint(x>>40, 36)
	}
	return strings.Join(list, " ")
}

const (
	trapLists, trapItems, trapWikiPages, trapFolders, trapShopPages = 200, 300, 30, 6, 12
	// All of them that have an address of their own, with the front page, the shop and the shop of sessions, whose
	// trapShopPages have none.
	trapRealPages = trapLists + trapItems + trapWikiPages + trapFolders + 3
)

func (s *trapSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	q, path := r.URL.Query(), r.URL.Path
	number := func(name string) int { n, _ := strconv.Atoi(q.Get(name)); return n }
	switch {
	case path == "/":
		s.page(w, "Front", trapWords("front", 20), "/list?page=1", "/item?id=1", "/wiki?id=p0", "/files/", "/cal?year=2026&month=1", "/shop", "/s/", "/pixel.gif?t=1700000000000")
	case path == "/list":
		next := []string{}
		if n := number("page"); n < trapLists {
			next = append(next, fmt.Sprintf("/list?page=%d", n+1), fmt.Sprintf("/pixel.gif?t=17%011d", n*977))
		}
		s.page(w, "List "+q.Get("page"), trapWords("list"+q.Get("page"), 9), next...)
	case path == "/item":
		next := []string{}
		for _, n := range []int{2 * number("id"), 2*number("id") + 1} {
			if n <= trapItems {
				next = append(next, fmt.Sprintf("/item?id=%d", n))
			}
		}
		s.page(w, "Item "+q.Get("id"), "in stock", next...)
	case path == "/wiki":
		s.wiki(w, q.Get("id"), q.Get("do"), q.Get("rev"))
	case strings.HasPrefix(path, "/files/"):
		s.listing(w, path, r.URL.RawQuery)
	case path == "/cal":
		s.calendar(w, number("year"), number("month"))
	case path == "/shop":
		s.shop(w, q.Get("colour"), q.Get("size"), q.Get("sort"))
	case strings.HasPrefix(path, "/s/"):
		s.session(w, path)
	case path == "/pixel.gif":
		w.Header().Set("Content-Type", "image/gif")
		_, _ = w.Write([]byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"))
	default:
		http.NotFound(w, r)
	}
}

// page writes a page with links.
func (s *trapSite) page(w http.ResponseWriter, title, text string, links ...string) {
	fmt.Fprintf(w, "<html><head><title>%s</title></head><body><p><a href=/>Home</a> of a site with a long line of navigation</p><h1>%s</h1><p>%s</p>", title, title, strings.ReplaceAll(text, "\n", "</p><p>"))
	for _, link := range links {
		fmt.Fprintf(w, "<a href='%s'>link</a> ", strings.ReplaceAll(link, "&", "&amp;"))
	}
	fmt.Fprint(w, "</body></html>")
}

// wiki has pages, and edit pages, differences and old versions of them.
func (s *trapSite) wiki(w http.ResponseWriter, id, do, rev string) {
	n, _ := strconv.Atoi(strings.TrimPrefix(id, "p"))
	if do+rev != "" {
		fmt.Fprint(w, "<meta name=robots content=noindex,nofollow>")
		s.page(w, "Action "+id, trapWords(id+do+rev, 30))
		return
	}
	links := []string{"/wiki?id=" + id + "&do=edit", "/wiki?id=" + id + "&do=diff", "/wiki?id=" + id + "&rev=1", "/wiki?id=" + id + "&rev=2"}
	for _, next := range []int{2*n + 1, 2*n + 2} {
		if next < trapWikiPages {
			links = append(links, fmt.Sprintf("/wiki?id=p%d", next))
		}
	}
	s.page(w, "Wiki "+id, trapWords(id, 30), links...)
}

// listing is a folder as Apache lists it.
func (s *trapSite) listing(w http.ResponseWriter, path, order string) {
	names := []string{"alpha", "beta", "gamma", "delta"}
	if strings.Contains(order, "O=D") {
		slices.Reverse(names)
	}
	links := []string{"?C=N;O=D", "?C=M;O=A", "?C=M;O=D", "?C=S;O=A", "?C=S;O=D", "?C=D;O=A"}
	if n := strings.Count(path, "d"); n < trapFolders-1 {
		links = append(links, path+"d/")
	}
	s.page(w, "Index of "+path, strings.Join(names, "\n"), links...)
}

// calendar has a month of a calendar without end and without events.
func (s *trapSite) calendar(w http.ResponseWriter, year, month int) {
	days := ""
	for d := range 28 + month%4 {
		days += strconv.Itoa(d+1) + "\n"
	}
	before, after := year*12+month-2, year*12+month
	names := strings.Fields("January February March April May June July August September October November December")
	s.page(w, names[(month+11)%12]+" "+strconv.Itoa(year), days+"no events",
		fmt.Sprintf("/cal?year=%d&month=%d", before/12, before%12+1), fmt.Sprintf("/cal?year=%d&month=%d", after/12, after%12+1))
}

// shop lists goods by filters in all combinations.
func (s *trapSite) shop(w http.ResponseWriter, colour, size, sorting string) {
	text, links := "", []string{}
	for i := range 60 {
		if (colour == "" || i%5 == int(colour[0])%5) && (size == "" || (i/5+int(size[0]))%4 != 0) {
			text += trapWords("good"+strconv.Itoa(i), 3) + "\n"
		}
	}
	for _, c := range []string{"azure", "black", "cyan", "denim", "emerald"} {
		for _, z := range []string{"a", "b", "c", "d"} {
			for _, o := range []string{"name", "price", "date"} {
				links = append(links, "/shop?colour="+c+"&size="+z, "/shop?colour="+c+"&size="+z+"&sort="+o)
			}
		}
	}
	s.page(w, "Goods "+colour+" "+size, text, links...)
}

// session has pages whose links get a new session id with each answer.
func (s *trapSite) session(w http.ResponseWriter, path string) {
	links := []string{}
	for i := range trapShopPages {
		links = append(links, fmt.Sprintf("/s/%d?sid=%032x", i, s.sessions.Add(7919)))
	}
	s.page(w, "Shop "+path, trapWords(path, 30), links...)
}

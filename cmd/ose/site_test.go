package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"hce/dc/internal/apps/ose/folder"
)

// site is a server that counts its requests. Page i has a link to each of its children.
type site struct {
	*httptest.Server
	mu     sync.Mutex
	counts map[string]int
	hold   func(*http.Request) // before an answer
}

// holdBy sets what is called before each answer.
func (s *site) holdBy(hold func(*http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold = hold
}

const pagesOfSite = 3

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{counts: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.counts[r.URL.Path]++
		hold := s.hold
		s.mu.Unlock()
		if hold != nil {
			hold(r)
		}
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil || n >= pagesOfSite {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%d</title><a href=/%d>a</a><a href=/%d>b</a><a href=mailto:x@y>c</a>", n, 2*n+1, 2*n+2)
	}))
	t.Cleanup(s.Close)
	return s
}

// wanted are the numbers of all pages that a crawl from /0 finds; from pagesOfSite on they are missing.
const wanted = 2*pagesOfSite + 1

// asked is the number of requests of a path.
func (s *site) asked(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[path]
}

// check checks that a target has all pages, each requested once but for `more` requests.
func (s *site) check(t *testing.T, dir string, more int) {
	t.Helper()
	f, err := folder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	f.Check(func(err error) { t.Error(err) })
	urls, err := f.URLs()
	if err != nil {
		t.Fatal(err)
	}
	defer urls.Close()
	n := 0
	for r, err := range urls.All() {
		if err != nil {
			t.Fatal(err)
		}
		n++
		page, err := strconv.Atoi(strings.TrimPrefix(r.URL, s.URL+"/"))
		want := 200
		if page >= pagesOfSite {
			want = 404
		}
		if err != nil || r.Code != want || r.Parsed == 0 {
			t.Errorf("%+v", r)
		}
	}
	if n != wanted {
		t.Errorf("%d URLs, want %d", n, wanted)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := 0
	for path, n := range s.counts {
		if path != "/robots.txt" {
			sum += n - 1
		}
	}
	if len(s.counts) != wanted+1 || sum > more {
		t.Errorf("%d requests more than needed, at most %d: %v", sum, more, s.counts)
	}
}

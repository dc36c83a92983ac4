package repository

import (
	"fmt"
	"testing"
	"time"

	"hce/dc/internal/apps/archive"
)

// BenchmarkCommit commits 10,000 pages of 2 KB, half of which have changed.
func BenchmarkCommit(b *testing.B) {
	r := newArchive(b)
	text := make([]byte, 2000)
	n := 0
	for b.Loop() {
		c, err := r.Begin(b.Context(), host, start.Add(time.Duration(n)*time.Hour))
		mustSucceed(b, err)
		for i := range 10_000 {
			copy(text, fmt.Sprintf("page %d, version %d", i, n*(i%2)))
			mustSucceed(b, c.Add(Page{URL: fmt.Sprintf("https://%s/%d/%d.html", host, i%100, i), MIMEType: "text/html", Created: start, Content: text}))
		}
		_, err = c.Commit(b.Context(), nil)
		mustSucceed(b, err)
		n++
	}
}

// BenchmarkRead reads the newest version of a page, and an older one.
func BenchmarkRead(b *testing.B) {
	r := newArchive(b)
	crawl(b, r, start, map[string]string{"/a": "one"})
	crawl(b, r, start.Add(time.Hour), map[string]string{"/a": "two"})
	for i, name := range []string{"old", "newest"} {
		m := one(b, r, "/a", archive.Tag(host, start.Add(time.Duration(i)*time.Hour)))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				read(b, r, m, "data.html")
			}
		})
	}
}

// BenchmarkTag adds nodes, each with a commit.
func BenchmarkTag(b *testing.B) {
	r := newArchive(b)
	crawl(b, r, start, map[string]string{"/a": "one"})
	m := one(b, r, "/a", archive.Tag(host, start))
	n := 0
	for b.Loop() {
		mustSucceed(b, write(b, r, m, fmt.Sprintf("n%d.txt", n), "12"))
		n++
	}
}

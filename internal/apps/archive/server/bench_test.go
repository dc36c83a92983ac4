package server_test

import (
	"fmt"
	"io"
	"testing"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/archivetest"
)

// BenchmarkOpen reads a file of 16 MB over loopback.
func BenchmarkOpen(b *testing.B) {
	const size = 16 << 20
	w := start(b, endless{archivetest.New(b), size}, nil)
	c := connect(b, w.server.URL(), nil)
	b.SetBytes(size)
	for b.Loop() {
		r, err := c.Open(b.Context(), archive.Meta{URL: "u", CommitTag: "t"}, "a")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, r); err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}

// BenchmarkQuery asks for 100 versions.
func BenchmarkQuery(b *testing.B) {
	w := start(b, archivetest.New(b), nil)
	for i := range 100 {
		w.Crawl(b, fmt.Sprintf("d%d.example", i), map[string]string{"/a.html": "x"})
	}
	c := connect(b, w.server.URL(), nil)
	for b.Loop() {
		if list, err := c.Query(b.Context(), archive.Query{OrderBy: "url"}); err != nil || len(list) != 100 {
			b.Fatal(len(list), err)
		}
	}
}

// BenchmarkWrite adds small files.
func BenchmarkWrite(b *testing.B) {
	w := start(b, archivetest.New(b), nil)
	m := w.page(b)
	c := connect(b, w.server.URL(), nil)
	i := 0
	for b.Loop() {
		i++
		if err := archivetest.Write(b, c, m, fmt.Sprintf("%d.txt", i), "text"); err != nil {
			b.Fatal(err)
		}
	}
}

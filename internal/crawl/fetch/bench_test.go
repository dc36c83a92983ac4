package fetch

import (
	"context"
	"io"
	"net/http"
	"testing"
)

// BenchmarkGet compares one fetch of a 20 KB page with the plain client of net/http.
func BenchmarkGet(b *testing.B) {
	page := noise(20_000)
	plain := serve(b, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Length", "20000"); w.Write(page) })
	gzipped := coded(b, "gzip", compress(b, "gzip", page))
	b.Run("net/http", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			resp, err := http.Get(plain)
			if err != nil {
				b.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || len(body) != len(page) {
				b.Fatal(len(body), err)
			}
		}
	})
	for _, bm := range []struct{ name, url string }{{"fetch", plain}, {"fetch gzip", gzipped}} {
		b.Run(bm.name, func(b *testing.B) {
			c := newClient(b, Config{})
			b.ReportAllocs()
			for b.Loop() {
				resp, err := c.Get(context.Background(), Request{URL: bm.url})
				if err != nil || len(resp.Body) != len(page) {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("net/http gzip", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			resp, err := http.Get(gzipped)
			if err != nil {
				b.Fatal(err)
			}
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

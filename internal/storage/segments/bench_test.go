package segments

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/sqldb"
)

const (
	benchPages = 1000
	benchChunk = 64
)

// benchBodies are pages of 20 to 60 KB.
func benchBodies() [][]byte {
	r := rand.New(rand.NewPCG(1, 1))
	text := bytes.Repeat([]byte("<p>some text of a page</p>\n"), 3000)
	bodies := make([][]byte, benchPages)
	for i := range bodies {
		bodies[i] = text[:20<<10+r.IntN(40<<10)]
	}
	return bodies
}

// BenchmarkStore stores 1,000 pages with headers and request in chunks of 64, durably, with a
// transaction for each chunk.
func BenchmarkStore(b *testing.B) {
	bodies, small := benchBodies(), bytes.Repeat([]byte("Header: value\r\n"), 40)
	for _, files := range []bool{false, true} {
		b.Run(fmt.Sprintf("files=%t", files), func(b *testing.B) {
			dir := b.TempDir()
			s, closeAll, err := openStore(filepath.Join(dir, "raw"), sqldb.Config{Path: filepath.Join(dir, "dc.db")}, Options{Files: files}, nil)
			must(b, err)
			defer closeAll()
			n := 0
			for b.Loop() {
				for from := 0; from < benchPages; from += benchChunk {
					st := s.Stage()
					for _, body := range bodies[from:min(from+benchChunk, benchPages)] {
						n++
						md5 := fmt.Sprintf("%016x%016x", uint64(n)*0x9e3779b97f4a7c15, n)
						must(b, st.Put("bench", md5, t1, rawfiles.Raw, body))
						must(b, st.Put("bench", md5, t1, rawfiles.Headers, small))
						must(b, st.Put("bench", md5, t1, rawfiles.Requests, small))
					}
					index, err := st.Flush(ctx)
					must(b, err)
					must(b, s.db.Update(ctx, index))
					st.Abort()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "µs/page")
		})
	}
}

// BenchmarkRead reads pages back, in the order of their keys.
func BenchmarkRead(b *testing.B) {
	bodies := benchBodies()
	for _, files := range []bool{false, true} {
		b.Run(fmt.Sprintf("files=%t", files), func(b *testing.B) {
			dir := b.TempDir()
			s, closeAll, err := openStore(filepath.Join(dir, "raw"), sqldb.Config{Path: filepath.Join(dir, "dc.db")}, Options{Files: files, NoSync: true}, nil)
			must(b, err)
			defer closeAll()
			st := s.Stage()
			for i, body := range bodies {
				must(b, st.Put("bench", fmt.Sprintf("%032x", i), t1, rawfiles.Raw, body))
			}
			must(b, st.Commit(ctx))
			i := 0
			for b.Loop() {
				v, _, err := s.Newest(ctx, "bench", fmt.Sprintf("%032x", i%benchPages), rawfiles.Raw)
				must(b, err)
				_, err = s.Read(ctx, v)
				must(b, err)
				i++
			}
		})
	}
}

// BenchmarkEncode compares WARC records with the shortest header that could be read back: kind
// and length.
func BenchmarkEncode(b *testing.B) {
	bodies, small := benchBodies(), bytes.Repeat([]byte("Header: value\r\n"), 40)
	runs := make([]*run, benchChunk)
	for i := range runs {
		runs[i] = &run{site: "ee71830d485aca6abfca0ebb34561f72", md5: key, name: rawfiles.TimeName(t1), at: t1.UnixMilli(), parts: []part{
			{rawfiles.Raw, bodies[i]}, {rawfiles.Headers, small}, {rawfiles.Requests, small}}}
	}
	short := make([]*run, benchChunk)
	for i, r := range runs {
		var text []byte
		for _, p := range r.parts {
			text = append(append(text, byte(p.kind), 0, 0, 0, 0, 0, 0, 0, 0), p.data...)
		}
		short[i] = &run{at: r.at, encoded: text}
	}
	for _, c := range []struct {
		name string
		runs []*run
	}{{"warc", runs}, {"minimal", short}} {
		b.Run(c.name, func(b *testing.B) {
			dir := b.TempDir()
			s, closeAll, err := openStore(filepath.Join(dir, "raw"), sqldb.Config{Path: filepath.Join(dir, "dc.db")}, Options{Size: 1 << 40, NoSync: true}, nil)
			must(b, err)
			defer closeAll()
			bytes := int64(0)
			for b.Loop() {
				w, err := s.appendRuns(ctx, c.runs)
				must(b, err)
				s.endTransaction(w)
				bytes = 0
				for _, p := range w.places {
					bytes += p.bytes
				}
				if s.own.end > 512<<20 { // keep the disk free
					s.own.end = 1
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*benchChunk), "µs/page")
			b.ReportMetric(float64(bytes)/benchChunk, "bytes/page")
		})
	}
}

package storage

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

func processorTime(w keysWorld) time.Duration {
	var u syscall.Rusage
	w.must(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkNewKeys is one upgrade of a site of 100,000 rows, of which each tenth has contents. Run it with
// -benchtime 1x.
func BenchmarkNewKeys(b *testing.B) {
	const rows, page = 100_000, 1000
	for _, c := range []struct{ name, path string }{{"no row changes", "/page-%d"}, {"each row changes", "/%%c3%%a9-%d"}} {
		b.Run(c.name, func(b *testing.B) {
			folder := b.TempDir()
			w := keysWorld{b, Config{DB: sqldb.Config{Path: filepath.Join(folder, "dc.db")}, RawDir: filepath.Join(folder, "raw"), KeyDir: filepath.Join(folder, "keys"), MaxFile: 1 << 20}}
			repo, closeAll := w.open()
			_, err := repo.SiteNew(b.Context(), wire.SiteNewRequest{ID: w.site(), Site: schema.Patch{"Id": w.site()}})
			w.must(err)
			for from := 0; from < rows; from += page {
				var list []schema.Patch
				var entries []wire.Entry
				files := map[string][]wire.File{}
				for i := from; i < from+page; i++ {
					text := keysHost + fmt.Sprintf(c.path, i)
					list = append(list, oldRow{url: text, parent: "/", crawled: i%10 == 0}.patch(w.site(), text))
					if key := wire.Md5(text); i%10 == 0 {
						files[key] = []wire.File{{Type: wire.ContentRaw, Data: []byte(text)}}
						entries = append(entries, wire.Entry{ID: key, Data: []byte(text)})
					}
				}
				_, err := repo.ImportRows(b.Context(), w.site(), sqlstore.PartURLs, list, wire.Bookmark{})
				w.must(err)
				w.must(repo.PutRaw(b.Context(), w.site(), files, time.Now()))
				_, err = repo.Contents.PutAll(b.Context(), w.site(), entries)
				w.must(err)
			}
			closeAll()
			w.takeBack()
			before := processorTime(w)
			b.ResetTimer()
			_, closeAll, err = Open(b.Context(), w.Config, slog.New(slog.DiscardHandler))
			w.must(err)
			closeAll()
			b.ReportMetric((processorTime(w) - before).Seconds(), "cpu-s/op")
		})
	}
}

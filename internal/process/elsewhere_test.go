package process_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"hce/dc/internal/process/remote"
	"hce/dc/internal/wire"
)

// stuckWeb never answers.
type stuckWeb struct{ asked chan string }

func (w stuckWeb) Get(ctx context.Context, r remote.Request) (remote.Answer, error) {
	w.asked <- r.URL
	<-ctx.Done()
	return remote.Answer{}, ctx.Err()
}

// A page that waits for a server holds no other page up. A stop ends its request and hands it back:
// the end of a batch is no fault of the page.
func TestStopDuringRequests(t *testing.T) {
	for name, property := range map[string]wire.SiteProperty{
		"template": {Name: "TEMPLATE_SOURCE", Value: `{"source":"http","request":"http://stuck.test/","schedule":{"type":1}}`},
		"link":     {Name: "LINK_RESOLVE", Value: `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			f := newFixture(t)
			f.Sites["stuck"] = &wire.Site{ID: "stuck", State: wire.SiteActive, Properties: []wire.SiteProperty{property}}
			web := stuckWeb{make(chan string, 10)}
			f.job.Remote = &remote.Reader{Web: web, Now: time.Now, Log: f.job.Log, Config: remote.Config{
				MaxTemplate: 1 << 10, KeepTime: time.Minute, MaxPageLinks: 9, MaxBatchLinks: 9,
			}}
			f.job.Config.ChunkItems = 1
			stuck := []wire.BatchItem{f.item("stuck", "a", article), f.item("stuck", "b", article)}
			b := batchOf(stuck...)
			for i := range 6 {
				b.Items = append(b.Items, f.item("s", fmt.Sprint(i), article))
			}
			saved := 0
			f.OnCall = func(method string) { // one for each page, since a chunk has one
				if method != "SaveProcess" {
					return
				}
				if saved++; saved == 6 {
					<-web.asked
					stop()
				}
			}
			if _, err := f.try(ctx, b); err != nil {
				t.Fatal(err)
			}
			for i, it := range b.Items {
				row, want := f.row(it), int64(wire.StatusProcessed)
				if i < len(stuck) {
					want = wire.StatusCrawled
				}
				if row.Status != want || row.ErrorMask != 0 || row.State != wire.URLEnabled {
					t.Errorf("%s: status %d, %s", row.URL, row.Status, bitNames(row.ErrorMask))
				}
			}
		})
	}
}

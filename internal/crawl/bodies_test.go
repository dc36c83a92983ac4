package crawl_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"hce/dc/internal/wire"
)

// Bodies that do not fit in memory together wait for each other, and all of them are stored: with
// and without a Content-Length, and while links are requested.
func TestBodiesShareMemory(t *testing.T) {
	const size = 150 << 10
	for name, properties := range map[string][]string{
		"plain":       nil,
		"with probes": {"HTTP_REDIRECT_RESOLVER", `{"METHOD":"SGET","URL":["^http"]}`},
		"replaced":    {"REPLACE", `[{"WHERE":"RAW","WHAT":"some text","WITH":"otherwise"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				body := "<a href=/link>x</a>" + strings.Repeat("some text ", size/10)
				if strings.HasSuffix(r.URL.Path, "/told") {
					w.Header().Set("Content-Length", fmt.Sprint(len(body)))
				}
				page(w, body)
			})
			_, port, _ := strings.Cut(s.host, ":")
			w := newWorld(t)
			c := &w.job.Config
			c.MaxHosts, c.MaxMemory = 16, 350<<10
			w.addSite("s", properties...)
			batch := batchOf()
			for i := range 24 {
				batch.Items = append(batch.Items, w.item("s", fmt.Sprintf("http://h%d.test:%s/%d/%s", i, port, i, []string{"told", "without a length"}[i%2])))
			}
			answer := w.run(batch)
			if len(answer.Items) != len(batch.Items) {
				t.Errorf("%d of %d pages", len(answer.Items), len(batch.Items))
			}
			putOff := 0
			for _, it := range batch.Items {
				if name == "replaced" && !strings.Contains(w.file(it, wire.ContentRaw), "otherwise otherwise") {
					t.Errorf("%s is stored as it came", it.URL.URL)
				}
				if name == "with probes" && w.row(it).Status == wire.StatusNew {
					putOff++
					continue
				}
				if row := w.row(it); row.ErrorMask != 0 || row.Status != wire.StatusCrawled || row.Size < size {
					t.Errorf("%s: status %d, errors %s, %d bytes", it.URL.URL, row.Status, bitNames(row.ErrorMask), row.Size)
				}
			}
			if putOff == len(batch.Items) {
				t.Error("no page is crawled")
			}
		})
	}
}

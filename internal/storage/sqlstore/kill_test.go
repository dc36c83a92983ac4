package sqlstore

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// killVariable is the environment variable with the database of the process to kill; see
// TestMain.
const killVariable = "DC_STORE_TEST_DATABASE"

// killLinksVariable is the same for TestKillWithLinksOut.
const killLinksVariable = "DC_STORE_TEST_LINKS_DATABASE"

// The number of links of each page of crawlForever.
const linksOfPage = 20

// crawlForever crawls pages of site s and prints the number of each stored page.
func crawlForever(config string) error {
	var c sqldb.Config
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return err
	}
	d, err := sqldb.Open(ctx, c)
	if err != nil {
		return err
	}
	s := Open(d, Options{})
	for page := 0; ; page++ {
		item := wire.NewURL("s", fmt.Sprint("page", page))
		if _, err := s.MarkCrawling(ctx, "s", 1, []wire.URL{item}); err != nil {
			return err
		}
		r := wire.Fetched{URLMd5: item.URLMd5, Set: schema.Patch{"Status": int64(4), "Size": int64(10), "ContentType": "text/html"}, Crawled: true}
		for i := range linksOfPage {
			link := wire.NewURL("s", fmt.Sprintf("page%d/%d", page, i))
			link.ParentMd5 = item.URLMd5
			r.Links = append(r.Links, wire.Link{URL: link})
		}
		if _, err := s.FinishCrawl(ctx, 1, []wire.SiteFetched{{Site: "s", Results: []wire.Fetched{r}}}, nil); err != nil {
			return err
		}
		fmt.Println(page)
	}
}

// killCrawlers starts crawlers of site "s", kills each after some pages, and returns what it held.
// variable gives the crawler the configuration of the store.
func (b *bench) killCrawlers(variable string) {
	b.Helper()
	config, err := json.Marshal(b.config)
	b.must(err)
	for _, lines := range []int{1, 7, 30} {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), variable+"="+string(config))
		out, err := c.StdoutPipe()
		b.must(err)
		b.must(c.Start())
		said := bufio.NewScanner(out)
		for i := 0; i < lines && said.Scan(); i++ {
			if len(said.Text()) > 3 {
				b.Errorf("the crawler printed %q", said.Text())
			}
		}
		b.must(c.Process.Signal(syscall.SIGKILL))
		c.Wait()
		b.checkCounters("s", "kill")
		_, err = b.URLReturn(ctx, wire.URLReturnRequest{BatchID: 1})
		b.must(err)
		b.checkCounters("s", "return")
		_, err = b.URLUpdate(ctx, []wire.URLUpdateRequest{{SiteID: "s", Set: schema.Patch{"Batch_Id": int64(0)}, Criterion: wire.Criterion{Where: "Batch_Id=1"}}})
		b.must(err) // the next run uses a new batch
	}
}

// When a process is killed, each page is either stored with all its links and counted, or
// still held by its batch, which can be returned.
func TestKillDuringCrawl(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s"}`)
	b.killCrawlers(killVariable)
	var pages, links, loose int64
	b.must(b.runReadTx(ctx, "test", func(t *tx) error {
		_, err := t.Row("SELECT SUM(Status = 4), SUM(ParentMd5 <> ''), (SELECT COUNT(*) FROM "+t.SiteTable(sqldb.URLs, "s")+" p WHERE Status = 4 AND (SELECT COUNT(*) FROM "+
			t.SiteTable(sqldb.URLs, "s")+" c WHERE c.ParentMd5 = p.URLMd5) <> ?) FROM "+t.SiteTable(sqldb.URLs, "s"), []any{linksOfPage}, &pages, &links, &loose)
		return err
	}))
	if pages < 30 || links != pages*linksOfPage || loose != 0 {
		t.Errorf("%d pages, %d links, %d pages without all their links", pages, links, loose)
	}
	if backend != sqldb.DriverSQLite {
		return
	}
	var verdict string
	b.must(b.runReadTx(ctx, "test", func(t *tx) error {
		_, err := t.Row("PRAGMA integrity_check", nil, &verdict)
		return err
	}))
	same(t, "integrity", verdict, "ok")
}

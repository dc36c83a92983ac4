package processprogram

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/storage"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

// refilling returns the program and its request: a batch that selects its pages itself, 20
// at a time, and stores them in chunks of 8.
func refilling(t *testing.T, home string, batch, ms int) *exec.Cmd {
	c := clitest.Command(t, "", "-c", filepath.Join("..", "..", "..", "ini", "processor-task.ini"))
	c.Env = append(c.Env, "DC_Application_data_dir="+home, "DC_ProcessorTask_chunk_items=8")
	c.Stdin = strings.NewReader(fmt.Sprintf(`{"id":%[1]d,"crawlerType":6,"items":[],"refillTime":%[2]d,"refill":{"maxURLs":20,"algorithm":1,
		"urlsCriterions":{"WHERE":"Status=4"},"urlUpdate":{"status":5,"batchId":%[1]d},"asBatch":%[1]d}}`, batch, ms))
	return c
}

// check fails unless rows and contents agree: a processed row was processed once and has a
// content. It returns the number of rows by Status.
func check(t *testing.T, repo *storage.Repository, site string, pages map[string][]byte) map[int64]int {
	t.Helper()
	count := map[int64]int{}
	for md5, row := range rowsOf(t, repo, site, pages) {
		count[row.Status]++
		_, stored, err := repo.Contents.Get(context.Background(), site, md5)
		if err != nil {
			t.Fatal(err)
		}
		done := row.Status == wire.StatusProcessed
		if done && (row.Processed != 1 || !stored || row.TagsCount == 0) || !done && row.Processed != 0 || row.ErrorMask != 0 {
			t.Errorf("%s: Status %d, processed %d times, stored %v, errors %v", row.URL, row.Status, row.Processed, stored, row.ErrorMask.Names())
		}
	}
	return count
}

// A kill at any moment, inside of a chunk or of a selection, loses no page and counts none
// twice: what was not stored goes back by URL_RETURN and is processed by a later batch.
func TestKillDuringRefill(t *testing.T) {
	const total = 240
	home := t.TempDir()
	pages := madePages("kill.test", total)
	storePages(t, home, "s", pages)
	repo, closeAll := openStores(t, home)
	defer closeAll()
	batch := 2
	for _, least := range []int{1, 9, 30, 75, 130, 200} {
		c := refilling(t, home, batch, 3600000)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		testwait.Until(t, "pages are processed", func() bool { return processedRows(t, repo, "s", pages) >= least })
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
		check(t, repo, "s", pages)
		if _, err := repo.URLReturn(t.Context(), wire.URLReturnRequest{BatchID: int64(batch), Statuses: []int64{5, 6}}); err != nil {
			t.Fatal(err)
		}
		if got := check(t, repo, "s", pages); got[wire.StatusCrawled]+got[wire.StatusProcessed] != total || got[wire.StatusProcessed] < least {
			t.Fatalf("rows by Status after a kill at %d pages: %v", least, got)
		}
		batch++
	}
	stdout, stderr, status := clitest.Output(t, refilling(t, home, batch, 3600000))
	if got := check(t, repo, "s", pages); status != 0 || got[wire.StatusProcessed] != total {
		t.Errorf("status %d, rows by Status %v, %s%s", status, got, stdout, stderr)
	}
}

// SIGTERM ends a batch soon, with its answer: no row stays with the batch, and most are left.
func TestStopDuringRefill(t *testing.T) {
	home := t.TempDir()
	pages := madePages("stop.test", 1500)
	storePages(t, home, "s", pages)
	repo, closeAll := openStores(t, home)
	defer closeAll()
	c := refilling(t, home, 2, 3600000)
	var out bytes.Buffer
	c.Stdout = &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "a page is processed", func() bool { return processedRows(t, repo, "s", pages) > 0 })
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	got := check(t, repo, "s", pages)
	if got[wire.StatusCrawled]+got[wire.StatusProcessed] != len(pages) || got[wire.StatusCrawled] == 0 {
		t.Errorf("rows by Status %v", got)
	}
	var answer struct{ Refilled int }
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil || answer.Refilled < got[wire.StatusProcessed] {
		t.Errorf("answer %s, %v", out.Bytes(), err)
	}
}

// Each selection takes an equal share of every site: a small site does not wait for a large
// one.
func TestSitesShareASelection(t *testing.T) {
	home := t.TempDir()
	sites := map[string]map[string][]byte{"a": madePages("a.test", 100), "b": madePages("b.test", 100), "c": madePages("c.test", 3)}
	for id, pages := range sites {
		storePages(t, home, id, pages)
	}
	if _, stderr, status := clitest.Output(t, refilling(t, home, 2, 0)); status != 0 {
		t.Fatal(stderr)
	}
	repo, closeAll := openStores(t, home)
	defer closeAll()
	total := 0
	for id, pages := range sites {
		n := check(t, repo, id, pages)[wire.StatusProcessed]
		if total += n; n < 3 {
			t.Errorf("%d pages of site %s", n, id)
		}
	}
	if total != 20 {
		t.Errorf("%d pages", total)
	}
}

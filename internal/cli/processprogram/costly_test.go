package processprogram

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// Six pages that cost more than their budget end with their own bit and a log line. All
// other pages of the batch are processed.
func TestCostlyPages(t *testing.T) {
	home := t.TempDir()
	innocent, costly := madePages("good.test", 200), map[string][]byte{}
	for i := range 6 {
		costly[fmt.Sprintf("http://bad.test/%d.html", i)] = []byte("<article>" + strings.Repeat("<p>"+strings.Repeat("Some words here. ", 120), 8000))
	}
	all := maps.Clone(innocent)
	maps.Copy(all, costly)
	storePages(t, home, "s", all)
	c := refilling(t, home, 2, 3600000)
	c.Env = append(c.Env, "DC_ProcessorTask_max_item_time=200", "DC_Application_log=stderr")
	stdout, stderr, status := clitest.Output(t, c)
	if status != 0 || strings.Count(stdout, "\n") != 1 {
		t.Fatalf("status %d, %s\n%s", status, stdout, stderr)
	}
	repo, closeAll := openStores(t, home)
	defer closeAll()
	if got := check(t, repo, "s", innocent); got[wire.StatusProcessed] != len(innocent) {
		t.Errorf("innocent pages by Status: %v", got)
	}
	for _, row := range rowsOf(t, repo, "s", costly) {
		if row.Status != wire.StatusProcessed || row.State != wire.URLError || row.ErrorMask != errormask.ProcessorBudget || row.Processed != 1 || row.TagsCount != 0 {
			t.Errorf("%s: Status %d, State %d, %s", row.URL, row.Status, row.State, row.ErrorMask.Names())
		}
		if strings.Count(stderr, row.URL) != 1 || !strings.Contains(stderr, "more processor time than max_item_time (200ms)") {
			t.Errorf("%s in the log:\n%s", row.URL, stderr)
		}
	}
}

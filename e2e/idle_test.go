//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/testkit/testwait"
)

// idleManagers are the managers of one machine.
var idleManagers = []string{"SitesManager", "BatchTasksManager", "BatchTasksManagerProcess", "BatchTasksManagerRealTime", "ClientInterfaceService"}

// An idle daemon wakes up for messages and due timers only, reads without files of its own, and
// writes and syncs nothing. What is counted does not depend on the speed of the machine.
func TestIdle(t *testing.T) {
	t.Parallel()
	counts := []count{
		{what: "syncs", calls: []string{"fsync", "fdatasync", "sync_file_range", "syncfs"}},
		{what: "renamed and removed files", calls: []string{"renameat", "renameat2", "rename", "unlinkat", "unlink"}},
		{what: "written and cut files", calls: []string{"pwrite64", "ftruncate", "write"}, of: "</"},
	}
	asked := count{calls: []string{"write"}, of: "<pipe:"} // questions to db-task, and answers
	traced, trace := tracedPrograms(t, counts)
	r, err := rig.Start(t.Context(), rig.Options{Bin: traced, Ini: ini, Data: t.TempDir(), Env: []string{
		"DC_BatchTasksManager_RegularCrawlingPeriod=1", "DC_BatchTasksManagerProcess_ProcessingPeriod=1",
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	testwait.Until(t, "what runs at each start is over", func() bool {
		crawl, process := stats(t, r, "BatchTasksManager"), stats(t, r, "BatchTasksManagerProcess")
		sweeps := crawl["age_batches_total"] == 1 && crawl["purge_batches_total"] == 1 && crawl["age_batches"]+crawl["purge_batches"] == 0
		asked, answered := crawl["SitesManager_send_cnt"], crawl["SitesManager_recv_cnt"]
		// Each manager returns rows of the last run before it fetches. Stuck rows are returned too.
		returned := asked-crawl["batches_crawl_url_fetch"] >= 2 && asked == answered && process["SitesManager_send_cnt"] >= 2
		return sweeps && returned && crawl["batches_crawl_url_fetch"] >= 1
	})
	begin, err := os.Stat(trace)
	if err != nil {
		t.Fatal(err)
	}
	before := allStats(t, r)
	testwait.Until(t, "the daemon looks for work", func() bool { return asked.in(t, trace, begin.Size()) >= 20 })
	after := allStats(t, r)

	for _, name := range idleManagers {
		change := func(of string) float64 { return after[name][of] - before[name][of] }
		messages := 0.0
		for stat := range after[name] {
			if strings.HasSuffix(stat, "_recv_cnt") {
				messages += change(stat)
			}
		}
		wasted := change("turns") - messages
		if strings.HasPrefix(name, "BatchTasks") { // a timer for each question
			wasted -= change("SitesManager_send_cnt")
		}
		t.Logf("%s: %.0f turns, %.0f messages, %.0f without reason", name, change("turns"), messages, wasted)
		if wasted > 4 { // timers of a minute
			t.Errorf("%s made %.0f turns for %.0f messages", name, change("turns"), messages)
		}
	}
	for _, c := range counts {
		if n, found := c.find(t, trace, begin.Size()); n > 0 {
			t.Errorf("%s of an idle daemon: %.0f; want none: %s", c.what, n, strings.Join(found, "\n"))
		}
	}
}

// stats returns the numbers in STAT of a manager.
func stats(t *testing.T, r *rig.Rig, name string) map[string]float64 {
	t.Helper()
	stat, err := r.Stat(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]float64{}
	for key, value := range stat {
		if n, ok := value.(float64); ok {
			numbers[key] = n
		}
	}
	if _, ok := numbers["turns"]; !ok {
		t.Fatal(fmt.Sprint("no turns in ", stat))
	}
	return numbers
}

func allStats(t *testing.T, r *rig.Rig) map[string]map[string]float64 {
	t.Helper()
	all := map[string]map[string]float64{}
	for _, name := range idleManagers {
		all[name] = stats(t, r, name)
	}
	return all
}

package daemonprogram

import (
	"maps"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/daemon/batches"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/sites"
)

// Each key of [Environment] changes its own field only.
func TestEnvironmentKeys(t *testing.T) {
	plain := func() executor.LocalConfig {
		cfg, _ := read(t, "[Application]\n")
		return cfg.Executor
	}
	slots := func(kind string, n int) func(*executor.LocalConfig) {
		return func(c *executor.LocalConfig) { c.Slots = maps.Clone(c.Slots); c.Slots[kind] = n }
	}
	for _, tt := range []struct {
		line string
		want func(*executor.LocalConfig)
	}{
		{"node_name = n1", func(c *executor.LocalConfig) { c.NodeName = "n1" }},
		{"spool_dir = queue", func(c *executor.LocalConfig) { c.Dir = filepath.FromSlash("/data/queue") }},
		{"spool_dir = /elsewhere", func(c *executor.LocalConfig) { c.Dir = filepath.FromSlash("/elsewhere") }},
		{"slots_db = 3", slots(sites.TaskType, 3)},
		{"slots_crawl = 4", slots(batches.CrawlTask, 4)},
		{"slots_process = 5", slots(batches.ProcessTask, 5)},
		{"slots_realtime = 7", slots("realtime", 7)},
		{"slots_age = 8", slots("age", 8)},
		{"slots_purge = 9", slots("purge", 9)},
		{"slots_recrawl = 2", slots("recrawl", 2)},
		{"nice_crawl = 0", func(c *executor.LocalConfig) { c.Nice = map[string]int{batches.ProcessTask: 5} }},
		{"nice_process = 19", func(c *executor.LocalConfig) { c.Nice = map[string]int{batches.CrawlTask: 5, batches.ProcessTask: 19} }},
		{"max_requests = 10", func(c *executor.LocalConfig) { c.MaxRequests = 10 }},
		{"max_rss = 0", func(c *executor.LocalConfig) { c.MaxRSS = 0 }},
		{"idle_timeout = 12", func(c *executor.LocalConfig) { c.IdleTimeout = 12 * time.Second }},
		{"kill_grace = 13", func(c *executor.LocalConfig) { c.KillGrace = 13 * time.Millisecond }},
	} {
		cfg, f := read(t, "[Application]\n[Environment]\n"+tt.line+"\n")
		want := plain()
		tt.want(&want)
		if f.Err() != nil || len(f.Unknown()) > 0 || !reflect.DeepEqual(cfg.Executor, want) {
			t.Errorf("%s: %+v, want %+v, %v %q", tt.line, cfg.Executor, want, f.Err(), f.Unknown())
		}
	}
	if got := plain().Slots; !maps.Equal(got, map[string]int{"age": 1, "purge": 1}) {
		t.Errorf("default slots: %v", got)
	}
}

func TestWrongValuesOfEnvironment(t *testing.T) {
	for _, lane := range lanes {
		for _, value := range []string{"0", "-1", "1001", "many"} {
			_, f := read(t, "[Application]\n[Environment]\n"+lane.key+" = "+value+"\n")
			if err := f.Err(); err == nil || !strings.Contains(err.Error(), lane.key) || !strings.Contains(err.Error(), value) {
				t.Errorf("%s = %s: %v", lane.key, value, err)
			}
		}
	}
	for _, line := range []string{"nice_crawl = 20", "nice_process = -1", "max_requests = 0", "max_rss = -1", "idle_timeout = 0", "kill_grace = 0", "kill_grace = soon"} {
		_, f := read(t, "[Application]\n[Environment]\n"+line+"\n")
		key, _, _ := strings.Cut(line, " ")
		if err := f.Err(); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

package daemonprogram

import (
	"path/filepath"
	"time"

	"hce/dc/internal/config"
	"hce/dc/internal/daemon/batches"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/realtime"
	"hce/dc/internal/daemon/sites"
)

// lanes are the task types. Each has its own slots, so that no type waits for another. With 0
// slots the default is what its manager uses.
var lanes = []struct {
	kind, key string
	slots     int64
}{
	{sites.TaskType, "slots_db", 0},
	{batches.CrawlTask, "slots_crawl", 0},
	{batches.ProcessTask, "slots_process", 0},
	{realtime.TaskType, "slots_realtime", 0},
	{batches.AgeTask, "slots_age", 1},
	{batches.PurgeTask, "slots_purge", 1},
	{sites.RecrawlTask, "slots_recrawl", 0},
}

// localExecutor reads [Environment]: the local executor of task programs.
func localExecutor(s *config.Section, dataDir string) executor.LocalConfig {
	slots := map[string]int{}
	for _, lane := range lanes {
		if n := s.Int(lane.key, lane.slots, 1, 1000); n > 0 {
			slots[lane.kind] = int(n)
		}
	}
	nice := map[string]int{}
	for kind, key := range map[string]string{batches.CrawlTask: "nice_crawl", batches.ProcessTask: "nice_process"} {
		if n := s.Int(key, 5, 0, 19); n > 0 {
			nice[kind] = int(n)
		}
	}
	return executor.LocalConfig{
		Dir:         filepath.Clean(s.PathIn(dataDir, "spool_dir", "env")),
		NodeName:    s.Text("node_name", "local"),
		Slots:       slots,
		Nice:        nice,
		MaxRequests: int(s.Int("max_requests", 1000, 1, 1e9)),
		MaxRSS:      s.Int("max_rss", 1<<30, 0, 1<<50),
		IdleTimeout: s.Duration("idle_timeout", time.Second, time.Minute, time.Second, longest),
		KillGrace:   s.Duration("kill_grace", time.Millisecond, 5*time.Second, time.Millisecond, time.Hour),
	}
}

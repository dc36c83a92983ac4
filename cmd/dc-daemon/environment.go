package main

import (
	"path/filepath"
	"time"

	"hce/dc/internal/batches"
	"hce/dc/internal/config"
	"hce/dc/internal/env"
	"hce/dc/internal/sites"
)

// environment reads [Environment]: the local pool of task programs.
func environment(s *config.Section, dataDir string) env.LocalConfig {
	slots := map[string]int{}
	for kind, key := range map[string]string{sites.TaskType: "slots_db", batches.CrawlTask: "slots_crawl", batches.ProcessTask: "slots_process"} {
		if n := s.Int(key, 0, 1, 1000); n > 0 {
			slots[kind] = int(n)
		}
	}
	return env.LocalConfig{
		Dir:         filepath.Clean(s.PathIn(dataDir, "spool_dir", "env")),
		NodeName:    s.Text("node_name", ""),
		Slots:       slots,
		MaxRequests: int(s.Int("max_requests", 1000, 1, 1e9)),
		MaxRSS:      s.Int("max_rss", 1<<30, 0, 1<<50),
		IdleTimeout: s.Duration("idle_timeout", time.Second, time.Minute, time.Second, longest),
		KillGrace:   s.Duration("kill_grace", time.Millisecond, 5*time.Second, time.Millisecond, time.Hour),
	}
}

package batches

import (
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
)

// PurgeConfig is the part of [BatchTasksManager] about purging (docs/spec/daemon.md 2.10).
type PurgeConfig struct {
	SweepConfig
	MaxURLs int64 // per site; PurgeBatchDefaultMaxURLs
}

// newPurging declares the purging of data that was deleted with delay: rows, and the contents
// and raw files of pages that were not found again. Tasks go to a random node.
func newPurging(c *Crawl) *sweep {
	cfg := &c.cfg.Purge
	s := &sweep{
		queue:  queue{kind: PurgeTask, timer: purgingTimer},
		cfg:    &cfg.SweepConfig,
		stage:  &c.cfg.DBTask,
		policy: executor.Random,
		op:     wire.URLPurge,
	}
	s.object = func() any {
		return map[string]any{
			"siteId": nil, "siteLimits": []int{0, -1}, "criterions": map[string]any{"LIMIT": cfg.MaxURLs},
		}
	}
	s.startSweep(c, "Purge", "purge")
	s.Var(manager.Int("PurgeBatchDefaultMaxURLs", &cfg.MaxURLs, 1, maxSwept))
	return s
}

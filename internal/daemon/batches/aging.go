package batches

import (
	"fmt"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
)

// AgingConfig is the part of [BatchTasksManager] about aging (docs/spec/daemon.md 2.11).
type AgingConfig struct {
	SweepConfig
	MaxURLs        int64          // per task; AgingBatchDefaultMaxURLsTotal
	MaxURLsSite    int64          // per site; AgingBatchDefaultMaxURLsSite
	MaxSites       int64          // per task, 0: all; AgingBatchDefaultMaxSites
	SitesCriterion wire.Criterion // AgingBatchSitesCriterion
	URLsCriterion  wire.Criterion // AgingBatchURLsCriterion
}

// newAging declares the aging of old pages: db-task deletes them with delay, and purging
// removes them later. Tasks go to the nodes in turn.
func newAging(c *Crawl) *sweep {
	cfg := &c.cfg.Aging
	s := &sweep{
		queue:  queue{kind: AgeTask, timer: agingTimer},
		cfg:    &cfg.SweepConfig,
		stage:  &c.cfg.DBTask,
		policy: executor.RoundRobin,
		op:     wire.URLAge,
	}
	s.object = func() any { return cfg.Request(s.total) }
	s.startSweep(c, "Aging", "age")
	s.Var(
		manager.Int("AgingBatchDefaultMaxURLsTotal", &cfg.MaxURLs, 1, maxSwept),
		manager.Int("AgingBatchDefaultMaxURLsSite", &cfg.MaxURLsSite, 1, maxSwept),
		manager.Int("AgingBatchDefaultMaxSites", &cfg.MaxSites, 0, maxRows),
		conditionVariable("AgingBatchURLsCriterion", &cfg.URLsCriterion.Where),
		conditionVariable("AgingBatchSitesCriterion", &cfg.SitesCriterion.Where),
	)
	return s
}

// Request returns the URL_AGE of the n-th task. With a limit of sites, n changes the order of
// the sites, so that every site has its turn (docs/spec/daemon.md F21).
func (cfg *AgingConfig) Request(n int64) map[string]any {
	sites, urls := cfg.SitesCriterion, cfg.URLsCriterion
	urls.Limit = fmt.Sprint(cfg.MaxURLsSite)
	limit := any(nil)
	if cfg.MaxSites > 0 {
		limit = cfg.MaxSites
		sites.OrderBy = fmt.Sprintf("MD5(CONCAT(`Id`, '-%d'))", n)
	}
	return map[string]any{
		"delayedType": wire.Delayed, "maxURLs": cfg.MaxURLs, "urlsCriterions": urls,
		"sitesCriterions": map[string]any{"WHERE": sites.Where, "ORDER BY": sites.OrderBy, "LIMIT": limit},
	}
}

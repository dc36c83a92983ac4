package daemonprogram

import (
	"fmt"
	"time"

	"hce/dc/internal/config"
	"hce/dc/internal/daemon/sites"
	"hce/dc/internal/wire"
)

// Defaults of the recrawl criteria (docs/spec/daemon.md 2.14, 3.5).
const (
	recrawlSites  = "`State`=1 AND " + wire.DueRecrawl
	recrawlDelete = "`ParentMd5`<>'' AND ((`Status`=4 AND `Crawled`=0) OR (`Status`=4 AND `ErrorMask`<>0 AND `Processed`=0) OR (`Status`=7 AND `TagsCount`=0))"
)

// sitesManager reads [SitesManager] (docs/spec/daemon.md 3.5).
func sitesManager(f *config.File, nodes int) sites.Config {
	s := f.Section(sites.Name)
	s.Accept("DRCEHost", "DRCEPort", "DRCENodes", "DRCEConnectionsPool", "CommonCommandsThreadingMode", "RecrawlSiteLockState")
	c := sites.Config{
		Server:   s.Text("server", ""),
		DBTask:   readStage(f, s, "DRCEDBAppName", "db-task"),
		Timeout:  s.Duration("DRCETimeout", time.Millisecond, 0, time.Millisecond, longest),
		Workers:  int(s.Int("CommonWorkers", 0, 1, 64)),
		MaxQueue: int(s.Int("CommonQueueMax", 0, 1, 100000)),
		Nodes:    nodes,
		Recrawl:  readRecrawlConfig(s),
	}
	readChecked(s, "DRCERoute", "", func(text string) (err error) {
		c.Route, err = sites.ParseRoute(text)
		return err
	})
	return c
}

// readChecked reads a text and refuses it if check returns an error.
func readChecked(s *config.Section, key, def string, check func(string) error) string {
	text := s.Text(key, def)
	if err := check(text); err != nil {
		s.Fail(key, fmt.Sprintf("= %.200q %v", text, err))
	}
	return text
}

// readRecrawlConfig reads the keys of recrawling.
func readRecrawlConfig(s *config.Section) sites.RecrawlConfig {
	c := sites.RecrawlConfig{
		Mode:       s.Bool("RecrawlSiteMode", true),
		Period:     s.Duration("RecrawlSiteIterationPeriod", time.Second, time.Minute, 0, longest),
		Max:        s.Int("RecrawlSiteMax", 1, 1, wire.MostRecrawl),
		MaxThreads: s.Int("RecrawlSiteMaxThreads", 2, 1, 64),
		Criterion: wire.Criterion{
			Where:   readChecked(s, "RecrawlSiteSelectCriterion", recrawlSites, sites.CheckSitesWhere),
			OrderBy: readChecked(s, "RecrawlSiteSelectOrder", "`RecrawlDate` ASC", sites.CheckSitesOrder),
		},
		DateExpression: readChecked(s, "RecrawlSiteRecrawlDateExpression", wire.NextRecrawl, sites.CheckRecrawlDate),
		Timeout:        s.Duration("RecrawlSiteDRCETimeout", time.Second, time.Hour, time.Second, longest),
		DelayBefore:    s.Duration("RecrawlDelayBefore", time.Second, 0, 0, longest),
		DelayAfter:     s.Duration("RecrawlDelayAfter", time.Second, 0, 0, longest),
		Renew:          readChecked(s, "DefaultRecrawUpdatelCriterion", wire.RecrawlURLs, sites.CheckURLsWhere),
		DeleteOld:      s.Bool("DefaultRecrawDeleteOld", false),
		DeleteWhere:    readChecked(s, "DefaultRecrawDeleteOldCriterion", recrawlDelete, sites.CheckURLsWhere),
		PurgeMethod:    s.Int("PurgeMethod", 0, 0, 1),
		Optimize:       s.Bool("RecrawlSiteOptimize", true),
		PeriodMode:     s.Int("RecrawlSitePeriodMode", 0, 0, 1),
		PeriodMin:      s.Int("RecrawlSitePeriodMin", 15, 1, wire.MaxRecrawlPeriod),
		PeriodMax:      s.Int("RecrawlSitePeriodMax", 1440, 1, wire.MaxRecrawlPeriod),
		PeriodStep:     s.Int("RecrawlSitePeriodStep", 15, 1, wire.MaxRecrawlPeriod),
	}
	if c.PeriodMin > c.PeriodMax {
		s.Fail("RecrawlSitePeriodMin", fmt.Sprintf("= %d is not from 1 to RecrawlSitePeriodMax, %d (minutes)", c.PeriodMin, c.PeriodMax))
	}
	return c
}

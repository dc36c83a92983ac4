package sites

import "hce/dc/internal/wire"

// tuned is the period that a site gets (docs/spec/daemon.md 2.14, step 5), in minutes: a step
// longer while there is a backlog, pages that are new or not processed, else a
// step shorter, and within its bounds in any case (docs/spec/daemon.md F26). The site's own
// rules go before the configuration. A site without a period keeps none. Refused
// says why a site is left as it is, "" otherwise.
func (c *RecrawlConfig) tuned(s wire.RecrawlSite) (period int64, refused string) {
	own := func(p *int64, def int64) int64 {
		if p != nil {
			return *p
		}
		return def
	}
	lowest, highest := own(s.Rules.PeriodMin, c.PeriodMin), own(s.Rules.PeriodMax, c.PeriodMax)
	step := own(s.Rules.PeriodStep, c.PeriodStep)
	switch {
	case own(s.Rules.PeriodMode, c.PeriodMode) == 0 || s.Period == 0:
		return s.Period, ""
	case lowest > highest:
		return s.Period, "its RECRAWL_PERIOD_MIN is above its RECRAWL_PERIOD_MAX"
	}
	period = s.Period - step
	if s.NewURLs > 0 || s.Resources > 0 {
		period = s.Period + step
	}
	return min(max(period, lowest), highest), ""
}

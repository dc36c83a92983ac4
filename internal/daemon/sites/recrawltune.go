package sites

import "hce/dc/internal/wire"

// tunePeriod returns the new period of a site in minutes (docs/spec/daemon.md 2.14, step 5): a step
// longer while pages are new or not processed, else a step shorter, within the limits
// (docs/spec/daemon.md F26). Rules of the site override the configuration. A site without a
// period gets none. refused says why a period does not change; "" otherwise.
func (c *RecrawlConfig) tunePeriod(s wire.RecrawlSite) (period int64, refused string) {
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

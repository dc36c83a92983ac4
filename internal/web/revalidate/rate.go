package revalidate

import "math"

// maxCounter bounds the number of crawls; beyond it a rate no longer changes visibly.
const maxCounter = 1 << 52

// Rate returns MRate and MRateCounter after one more crawl: the share of crawls that found
// a change (docs/spec/crawling.md 4.12). An invalid rate restarts at 0.
func Rate(rate float64, counter int64, changed bool) (float64, int64) {
	if math.IsNaN(rate) || math.IsInf(rate, 0) || rate < 0 || counter < 0 {
		rate, counter = 0, 0
	}
	counter = min(counter, maxCounter)
	m := 0.0
	if changed {
		m = 1
	}
	n := float64(counter)
	return min(rate, 1)*(n/(n+1)) + m/(n+1), counter + 1
}

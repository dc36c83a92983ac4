package revalidate

import "math"

// maxCounter is how many crawls are counted; from there on a rate changes no
// more that anyone could see.
const maxCounter = 1 << 52

// Rate returns MRate and MRateCounter after one more crawl: the share of crawls
// that found a change, 304 and the like included as none (docs/spec/crawling.md 4.12). A rate
// that is no share of anything begins anew.
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

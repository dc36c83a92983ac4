package process

import (
	"hce/dc/internal/process/scraper"
)

// request asks a worker for the extraction of a page.
type request struct {
	Page  scraper.Page
	Rules uint64          // ID of the rules
	New   *scraper.Source // the rules, unless this worker has them

	Trial *Trial // a template to try, instead of all the above
}

// maxRules is the most rules that a worker keeps. Workers and the process that asks them forget
// all of them at the same request, so that both know the same rules.
const maxRules = 64

// known are the rules that a worker has, by ID.
type known[T any] map[uint64]T

// add adds the rules of an ID.
func (k known[T]) add(id uint64, rules T) {
	if len(k) >= maxRules {
		clear(k)
	}
	k[id] = rules
}

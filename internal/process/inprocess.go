package process

import (
	"fmt"

	"hce/dc/internal/process/scraper"
	"hce/dc/internal/wire/errormask"
)

// extractHere extracts a page in this process. A page that panics gives its error bit, and its rules are not used again.
func (w *Workers) extractHere(p *scraper.Page, source *scraper.Source) (x scraper.Output) {
	set := w.takeRules()
	defer func() {
		if fault := recover(); fault != nil {
			x = scraper.Output{Bits: errormask.BatchItem, Message: fmt.Sprintf("the page cannot be read: %v", fault)}
		}
	}()
	rules := set[source.ID]
	if rules == nil {
		rules, _ = scraper.Compile(source) // the plan has reported the problems
		rules.Evaluate = w.Evaluate
		set.addRules(source.ID, rules)
	}
	x = scraper.Scrape(p, rules)
	w.putRules(set)
	return x
}

// takeRules returns compiled rules for one page at a time.
func (w *Workers) takeRules() known[*scraper.Rules] {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last := len(w.sets) - 1; last >= 0 {
		set := w.sets[last]
		w.sets = w.sets[:last]
		return set
	}
	return known[*scraper.Rules]{}
}

func (w *Workers) putRules(set known[*scraper.Rules]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sets = append(w.sets, set)
}

package crawl

import (
	"testing"

	"hce/dc/internal/crawl/item"
	"hce/dc/internal/frontier/refill"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// The errors of rows that a batch selected during its fetch are those of the batch. Its other items are part of the
// answer.
func TestErrorsOfSelectedRows(t *testing.T) {
	r := &batchRun{flow: refill.New(4)}
	newOutcome := func(it *item.Item) *item.Outcome {
		it.View = &item.SiteView{}
		r.flow.CountQueued(flowItem(it))
		return &item.Outcome{Item: it}
	}
	r.countStored([]*item.Outcome{
		newOutcome(&item.Item{Refilled: true, HandedBack: true, Row: wire.URL{ErrorMask: errormask.HTTP}}),
		newOutcome(&item.Item{Refilled: true, Row: wire.URL{ErrorMask: errormask.Robots}}),
		newOutcome(&item.Item{Row: wire.URL{ErrorMask: errormask.Timeout}}),
	})
	if want := errormask.MaxExecutionTime | errormask.Robots; r.added.mask != want {
		t.Errorf("errors %v, want %v", r.added.mask.Names(), want.Names())
	}
}

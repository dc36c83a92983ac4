package crawl

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"hce/dc/internal/crawl/slots"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// A batch with a selection takes its rows by itself: a batch without items its first ones, and more while it fetches. When
// few of its items wait, the selection runs again, and its rows join the queues of their hosts. A batch of several passes or
// with maxItems needs the end of a pass, and one without refillTime takes rows once: they select between their rounds
// (Job.Run).

const (
	// mostLow bounds the number of waiting items of a site below which a batch selects more for it.
	mostLow = 256
	// mostItems bounds the waiting items of all sites, as a multiple of the number for one site.
	// Above it, only sites with few waiting items are selected.
	mostItems = 8
	// fewUnfetched is the number of waiting items below which results are stored at once, because
	// their links may be the next items.
	fewUnfetched = 8
	// mostOwn bounds the sites of a selection that the batch itself keeps busy.
	mostOwn = 64
	// mostSlow bounds the waiting items of slow sites, as a multiple of the number for one site.
	mostSlow = 64
	// perHost is the number of waiting items, for each of its hosts, below which a slow site of several
	// hosts is selected: its other hosts would wait for the one that has items left. A selection has
	// several rows of one host after each other, so fewer would keep few hosts busy.
	perHost = 16
	// mostPerHost is perHost while one of the hosts has no item: the rows that are selected first may be of
	// a few hosts, and the others would wait until those have few left. It applies while slow sites have
	// less than half of mostSlow, so that there is room for others.
	mostPerHost = 128
	// lookGap is the minimum time between selections among all sites while own sites have items.
	lookGap = 250 * time.Millisecond
	// lookPeriod is how often a batch that only waits for slow sites looks for others.
	lookPeriod = time.Second
)

// flow counts the items of a batch that refills itself, by site: a slow site must not keep the
// others from their next items. A nil flow counts nothing and never needs results. It is safe for
// concurrent use.
type flow struct {
	news chan struct{} // a selection may be possible
	idle chan struct{} // the save stage may have to store at once
	low  int           // a site is selected when it has fewer waiting items

	mu        sync.Mutex
	sites     map[string]*siteFlow // with items
	unfetched int                  // queued or being fetched
	open      int                  // queued, but not stored
	stalled   int                  // sites whose items all wait to be stored
	paces     map[string]int64     // by site: ms of its last request, 0 for a quick one
	progress  bool                 // a page of a site without items was stored since the last selection
	emptied   map[string]bool      // such sites that are not slow, at most mostOwn
	mask      errormask.Mask       // of items that were selected during the fetch
}

// siteFlow is the part of a flow that belongs to one site.
type siteFlow struct {
	unfetched, open int
	progress        bool // a page was stored since the last selection
	// slow: the site has a delay, or one of its hosts is slow or asked for a delay. Such a site
	// is selected only when none of its rows is in flight, so that slow sites do not fill the memory,
	// or when it has several hosts and few items for each.
	slow  bool
	hosts map[string]int // unfetched items by host
	wide  int            // most hosts that had items at once
}

// hasFewItems reports whether a site has so few waiting items that it may be selected. low is the limit for
// sites that are not slow; spare says that slow ones may have more than perHost needs.
func (s *siteFlow) hasFewItems(low int, spare bool) bool {
	if !s.slow {
		return s.unfetched < low
	}
	most := perHost
	if spare && len(s.hosts) < s.wide {
		most = mostPerHost
	}
	return s.wide > 1 && s.unfetched < most*s.wide
}

// isStalled reports whether all items of a site that could have more wait to be stored.
func (s *siteFlow) isStalled() bool { return s.unfetched == 0 && s.open > 0 && !s.slow }

func newFlow(most int64) *flow {
	if most <= 0 {
		most = 2 * mostLow
	}
	return &flow{
		news: make(chan struct{}, 1), idle: make(chan struct{}, 1), low: int(min(max(most/2, 1), mostLow)),
		sites: map[string]*siteFlow{}, paces: map[string]int64{}, emptied: map[string]bool{},
	}
}

// changeCounts applies a change to the counts of a site and of the batch.
func (f *flow) changeCounts(it *item, unfetched, open int, more func(*siteFlow)) {
	s := f.sites[it.SiteID]
	if s == nil {
		s = &siteFlow{slow: it.site.RequestDelay > 0 || f.paces[it.SiteID] > 0, hosts: map[string]int{}}
		f.sites[it.SiteID] = s
	}
	before := s.isStalled()
	if s.hosts[it.host] += unfetched; s.hosts[it.host] == 0 {
		delete(s.hosts, it.host)
	}
	s.wide = max(s.wide, len(s.hosts))
	s.unfetched, f.unfetched = s.unfetched+unfetched, f.unfetched+unfetched
	s.open, f.open = s.open+open, f.open+open
	if more != nil {
		more(s)
	}
	switch after := s.isStalled(); {
	case after && !before:
		f.stalled++
	case before && !after:
		f.stalled--
	}
	if s.open == 0 && s.unfetched == 0 {
		f.progress = f.progress || s.progress
		if s.progress && !s.slow && len(f.emptied) < mostOwn {
			f.emptied[it.SiteID] = true
		}
		delete(f.sites, it.SiteID)
	}
	if s.unfetched < f.low || s.hasFewItems(f.low, true) {
		notifyChannel(f.news)
	}
	if f.isIdle() {
		notifyChannel(f.idle)
	}
}

// countQueued counts an item that has to be fetched.
func (f *flow) countQueued(it *item) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changeCounts(it, 1, 1, nil)
}

// noteRequestTime notes how long a request of an item took; 0: there was none.
func (f *flow) noteRequestTime(it *item, took time.Duration) {
	if f == nil || took == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.paces) >= slots.MostPaces {
		clear(f.paces)
	}
	if took < slots.SlowAfter {
		f.paces[it.SiteID] = 0
		return
	}
	f.paces[it.SiteID] = took.Milliseconds()
	if s := f.sites[it.SiteID]; s != nil {
		f.changeCounts(it, 0, 0, func(s *siteFlow) { s.slow = true })
	}
}

// countFetched counts an item whose answer was passed on.
func (f *flow) countFetched(it *item) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changeCounts(it, -1, 0, nil)
}

// countStored counts the items of a chunk.
func (f *flow) countStored(chunk []*outcome) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, out := range chunk {
		it := out.item
		if it.refilled {
			f.mask |= it.addedErrors()
		}
		f.changeCounts(it, 0, -1, func(s *siteFlow) {
			s.progress = s.progress || it.url.Status == wire.StatusCrawled && !it.empty
			s.slow = s.slow || out.result.HeldUntil != ""
		})
	}
}

// needsResults reports whether results should be stored at once.
func (f *flow) needsResults() bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.isIdle()
}

func (f *flow) isIdle() bool { return f.stalled > 0 || f.unfetched < min(fewUnfetched, f.low) }

// addErrors joins errors of an item that was not queued.
func (f *flow) addErrors(bits errormask.Mask) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mask |= bits
}

// demand is what a batch wants to select.
type demand struct {
	own     []string // sites with few waiting items whose rows in flight belong to this batch
	emptied []string // sites without items that had some
	others  bool     // other sites may have rows
	room    int      // how many more items may wait
	idle    bool     // no item waits
	slow    bool     // items of slow sites wait
	empty   bool     // all items are stored
}

// currentDemand returns what may be selected now: own sites with few or no waiting items of which a page
// was stored since their last selection, sites that just ran out of items, and other sites after a
// page of such a site. Only the others wait for lookGap: the sites of a batch have equal chances.
func (f *flow) currentDemand() (d demand) {
	f.mu.Lock()
	defer f.mu.Unlock()
	slow := 0
	for _, s := range f.sites {
		if s.slow {
			slow += s.unfetched
		}
	}
	spare := slow < mostSlow*f.low/2
	for id, s := range f.sites {
		if s.progress && s.hasFewItems(f.low, spare) && len(d.own) < mostOwn {
			d.own = append(d.own, id)
		}
	}
	for id := range f.emptied {
		if f.sites[id] == nil {
			d.emptied = append(d.emptied, id)
		}
	}
	d.others, d.idle, d.slow, d.empty = f.progress, f.unfetched == 0, slow > 0, f.open == 0
	d.room = min(mostItems*f.low-f.unfetched+slow, mostSlow*f.low-slow)
	return d
}

// noteSelection notes that a selection follows.
func (f *flow) noteSelection(d demand) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d.others {
		f.progress = false
	}
	for _, id := range d.emptied {
		delete(f.emptied, id)
	}
	for _, id := range d.own {
		if s := f.sites[id]; s != nil {
			s.progress = false
		}
	}
}

// lastRequestTime returns the time of the last request of a site in ms, if one is known; 0 for a quick one.
func (f *flow) lastRequestTime(site string) (ms int64, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ms, known = f.paces[site]
	return ms, known
}

// maxHosts returns the most hosts of a site that had items at once, at least 1.
func (f *flow) maxHosts(site string) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sites[site]; s != nil {
		return int64(max(s.wide, 1))
	}
	return 1
}

// selectsWhileFetching reports whether the batch selects more URLs while it fetches.
func (r *environment) selectsWhileFetching() bool {
	return r.mayRefill() && r.batch.RefillTime > 0 && r.batch.MaxIterations <= 1 && r.batch.MaxItems == 0
}

// mayRefill reports whether the batch may select more URLs at all.
func (r *environment) mayRefill() bool {
	return len(r.batch.Refill) > 0 && r.mayWrite()
}

// refillOver reports whether no selection may follow because of the time or a stop.
func (r *environment) refillOver(ctx context.Context) bool {
	return r.isOver(ctx) || r.Now().Sub(r.start) >= time.Duration(r.batch.RefillTime)*time.Millisecond
}

// refillQueues selects URLs and adds them to the queues until the time is over, nothing is due, or the
// items since the last selection were all handed back: their rows are due, and would be selected
// again and again. A batch that waits for slow sites goes on beyond its time: it would hold its
// place in the daemon for nothing.
func (r *batchRun) refillQueues(ctx context.Context, q *hostQueues) {
	var looked, planned time.Time
	for !r.isOver(ctx) {
		now, wait := r.Now(), time.Duration(0)
		d := r.flow.currentDemand()
		lingers := r.slots.HasSlow() || d.slow
		if lingers {
			wait = lookPeriod - now.Sub(looked)
			d.others = d.others || wait <= 0
		}
		if soon := lookGap - now.Sub(looked); d.others && !d.idle && soon > 0 {
			d.others, wait = false, soon
		}
		if r.refillOver(ctx) && !lingers || !d.others && len(d.own)+len(d.emptied) == 0 {
			if d.empty {
				return
			}
			r.awaitDemand(ctx, wait)
			continue
		}
		if d.others {
			looked = now
		}
		if now.Sub(planned) >= time.Duration(r.batch.RefillTime)*time.Millisecond {
			planned = now
			clear(r.works) // sites may have changed
		}
		r.flow.noteSelection(d)
		rows, err := r.selectMore(context.WithoutCancel(ctx), d, min(d.room, maxActive-1-q.hostCount()))
		if err != nil && len(r.batch.Items) == 0 && r.batch.Refilled == 0 { // the batch has nothing to do
			r.failBatch(fmt.Errorf("select URLs: %w", err))
			return
		}
		if err != nil { // URL_RETURN frees the rows that it may have marked
			r.log.Warn("cannot select more URLs", "error", err)
			return
		}
		work, err := r.planMore(context.WithoutCancel(ctx), rows)
		if err != nil {
			r.failBatch(err)
			return
		}
		q.addItems(work)
	}
}

// awaitDemand waits until a selection may be possible, at most for most; 0: no limit.
func (r *batchRun) awaitDemand(ctx context.Context, most time.Duration) {
	if most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, most)
		defer cancel()
	}
	select {
	case <-r.flow.news:
	case <-ctx.Done():
	}
}

// selectMore runs the selection of the batch, for the sites that d names. Without room for that
// many rows of other sites, only own sites are selected.
func (r *batchRun) selectMore(ctx context.Context, d demand, room int) ([]wire.URL, error) {
	selection := r.batch.Refill[0]
	selection.Own = d.own // SkipBusySites would skip them
	selection.Pace, selection.Hosts = r.flow.lastRequestTime, r.flow.maxHosts
	switch {
	case d.others && room > 0:
		selection.MaxURLs = min(selection.MaxURLs, int64(room))
	case len(d.own)+len(d.emptied) > 0:
		selection.Sites = slices.Concat(d.own, d.emptied)
	default:
		return nil, nil
	}
	return r.Data.Take(ctx, []wire.URLFetchRequest{selection}, r.batch.ID)
}

// planMore plans selected rows, which are marked already.
func (r *batchRun) planMore(ctx context.Context, rows []wire.URL) ([]*item, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	r.batch.Refilled += int64(len(rows))
	clear(r.marked)
	for i := range rows {
		r.marked[chainKey{rows[i].SiteID, rows[i].URLMd5}] = true
	}
	items, err := r.applySchemas(ctx, wire.BatchItems(rows))
	if err != nil {
		return nil, err
	}
	work, err := r.planBatch(ctx, items)
	for _, it := range work {
		it.refilled = true
		if !it.todo {
			r.flow.addErrors(it.addedErrors())
		}
	}
	return work, err
}

func notifyChannel(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is notified already
	}
}

// Package refill decides when a batch takes more rows, and of which sites, from the counts of its items.
//
//	f := refill.New(most)
//	f.CountQueued(it) // then CountFetched, then CountStored
//	step := f.Next(now, slowRequestsRun, timeIsOver)
//
// The times of its decisions are parameters. It sends no request and reads no row.
package refill

import (
	"context"
	"sync"
	"time"

	"hce/dc/internal/frontier/slots"
)

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

// Item is what a Flow knows of an item.
type Item struct {
	Site, Host string
	Delayed    bool // its site has a delay between requests
}

// Stored is an item whose result is stored.
type Stored struct {
	Item
	Page bool // a page was stored: its links may be the next items
	Held bool // its host asked for a delay
}

// Flow counts the items of a batch that refills itself, by site: a slow site must not keep the
// others from their next items. A nil Flow counts nothing and never needs results. It is safe for
// concurrent use, except Next, which one goroutine calls.
type Flow struct {
	news   chan struct{} // a selection may be possible
	idle   chan struct{} // results may have to be stored at once
	low    int           // a site is selected when it has fewer waiting items
	looked time.Time     // last selection among all sites

	mu        sync.Mutex
	sites     map[string]*siteFlow // with items
	unfetched int                  // queued or being fetched
	open      int                  // queued, but not stored
	stalled   int                  // sites whose items all wait to be stored
	paces     map[string]int64     // by site: ms of its last request, 0 for a quick one
	progress  bool                 // a page of a site without items was stored since the last selection
	emptied   map[string]bool      // such sites that are not slow, at most mostOwn
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

// New returns the flow of a batch whose selections have at most most rows; 0: the default.
func New(most int64) *Flow {
	if most <= 0 {
		most = 2 * mostLow
	}
	return &Flow{
		news: make(chan struct{}, 1), idle: make(chan struct{}, 1), low: int(min(max(most/2, 1), mostLow)),
		sites: map[string]*siteFlow{}, paces: map[string]int64{}, emptied: map[string]bool{},
	}
}

// changeCounts applies a change to the counts of a site and of the batch.
func (f *Flow) changeCounts(it Item, unfetched, open int, more func(*siteFlow)) {
	s := f.sites[it.Site]
	if s == nil {
		s = &siteFlow{slow: it.Delayed || f.paces[it.Site] > 0, hosts: map[string]int{}}
		f.sites[it.Site] = s
	}
	before := s.isStalled()
	if s.hosts[it.Host] += unfetched; s.hosts[it.Host] == 0 {
		delete(s.hosts, it.Host)
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
			f.emptied[it.Site] = true
		}
		delete(f.sites, it.Site)
	}
	if s.unfetched < f.low || s.hasFewItems(f.low, true) {
		notifyChannel(f.news)
	}
	if f.isIdle() {
		notifyChannel(f.idle)
	}
}

// CountQueued counts an item that has to be fetched.
func (f *Flow) CountQueued(it Item) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changeCounts(it, 1, 1, nil)
}

// NoteRequestTime notes how long a request of an item took; 0: there was none.
func (f *Flow) NoteRequestTime(it Item, took time.Duration) {
	if f == nil || took == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.paces) >= slots.MostPaces {
		clear(f.paces)
	}
	if took < slots.SlowAfter {
		f.paces[it.Site] = 0
		return
	}
	f.paces[it.Site] = took.Milliseconds()
	if s := f.sites[it.Site]; s != nil {
		f.changeCounts(it, 0, 0, func(s *siteFlow) { s.slow = true })
	}
}

// CountFetched counts an item whose answer was passed on.
func (f *Flow) CountFetched(it Item) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changeCounts(it, -1, 0, nil)
}

// CountStored counts the items of a chunk.
func (f *Flow) CountStored(chunk []Stored) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range chunk {
		f.changeCounts(one.Item, 0, -1, func(s *siteFlow) {
			s.progress = s.progress || one.Page
			s.slow = s.slow || one.Held
		})
	}
}

// NeedsResults reports whether results should be stored at once.
func (f *Flow) NeedsResults() bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.isIdle()
}

func (f *Flow) isIdle() bool { return f.stalled > 0 || f.unfetched < min(fewUnfetched, f.low) }

// Demand is what a batch wants to select.
type Demand struct {
	Own     []string // sites with few waiting items whose rows in flight belong to this batch
	Emptied []string // sites without items that had some
	Others  bool     // other sites may have rows
	Room    int      // how many more items may wait
	idle    bool     // no item waits
	slow    bool     // items of slow sites wait
	empty   bool     // all items are stored
}

// ExpectRows says that the batch has no items yet: it takes its first rows by itself.
func (f *Flow) ExpectRows() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.progress = true
}

// Idle receives a value when results may have to be stored at once. The channel of a nil Flow is nil.
func (f *Flow) Idle() <-chan struct{} {
	if f == nil {
		return nil
	}
	return f.idle
}

// NotifyNews lets AwaitNews return.
func (f *Flow) NotifyNews() { notifyChannel(f.news) }

// AwaitNews waits until a selection may be possible, at most for most; 0: no limit.
func (f *Flow) AwaitNews(ctx context.Context, most time.Duration) {
	if most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, most)
		defer cancel()
	}
	select {
	case <-f.news:
	case <-ctx.Done():
	}
}

// Step is what a batch does next about its selections.
type Step struct {
	Demand
	Selects bool          // a selection runs for Demand
	Ends    bool          // no selection follows
	Wait    time.Duration // without a selection: how long it may wait for news; 0: no limit
}

// Next returns the step of a batch at now. slow says that slow requests run, over that the batch has taken rows for
// long enough. A batch that waits for slow sites goes on beyond its time: it would hold its place in the daemon for
// nothing.
func (f *Flow) Next(now time.Time, slow, over bool) Step {
	d := f.currentDemand()
	step := Step{}
	lingers := slow || d.slow
	if lingers {
		step.Wait = lookPeriod - now.Sub(f.looked)
		d.Others = d.Others || step.Wait <= 0
	}
	if soon := lookGap - now.Sub(f.looked); d.Others && !d.idle && soon > 0 {
		d.Others, step.Wait = false, soon
	}
	if over && !lingers || !d.Others && len(d.Own)+len(d.Emptied) == 0 {
		step.Ends = d.empty
		return step
	}
	if d.Others {
		f.looked = now
	}
	f.noteSelection(d)
	step.Demand, step.Selects = d, true
	return step
}

// currentDemand returns what may be selected now: own sites with few or no waiting items of which a page
// was stored since their last selection, sites that just ran out of items, and other sites after a
// page of such a site. Only the others wait for lookGap: the sites of a batch have equal chances.
func (f *Flow) currentDemand() (d Demand) {
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
		if s.progress && s.hasFewItems(f.low, spare) && len(d.Own) < mostOwn {
			d.Own = append(d.Own, id)
		}
	}
	for id := range f.emptied {
		if f.sites[id] == nil {
			d.Emptied = append(d.Emptied, id)
		}
	}
	d.Others, d.idle, d.slow, d.empty = f.progress, f.unfetched == 0, slow > 0, f.open == 0
	d.Room = min(mostItems*f.low-f.unfetched+slow, mostSlow*f.low-slow)
	return d
}

// noteSelection notes that a selection follows.
func (f *Flow) noteSelection(d Demand) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d.Others {
		f.progress = false
	}
	for _, id := range d.Emptied {
		delete(f.emptied, id)
	}
	for _, id := range d.Own {
		if s := f.sites[id]; s != nil {
			s.progress = false
		}
	}
}

// LastRequestTime returns the time of the last request of a site in ms, if one is known; 0 for a quick one.
func (f *Flow) LastRequestTime(site string) (ms int64, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ms, known = f.paces[site]
	return ms, known
}

// MaxHosts returns the most hosts of a site that had items at once, at least 1.
func (f *Flow) MaxHosts(site string) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sites[site]; s != nil {
		return int64(max(s.wide, 1))
	}
	return 1
}

// notifyChannel puts a value into a channel of one place, unless it has one.
func notifyChannel(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is notified already
	}
}

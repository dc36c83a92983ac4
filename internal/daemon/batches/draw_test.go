package batches

import (
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/wire"
)

// chance returns a fixed sequence of numbers.
type chance struct {
	sync.Mutex
	numbers []float64
}

func (c *chance) next() float64 {
	c.Lock()
	defer c.Unlock()
	n := c.numbers[0]
	c.numbers = append(c.numbers[1:], n)
	return n
}

func drawing(random func() float64) func(*CrawlConfig) {
	return func(cfg *CrawlConfig) {
		cfg.MaxTasks, cfg.MaxURLs, cfg.Random = 1, 5, random
		cfg.SitesCriterion.Where = "`State`=1"
		cfg.FetchTypes = FetchTypes{Splitter: 1.75, TaskTime: 100, TaskTTL: 200, MaxURLs: 2}
	}
}

// looks returns the site conditions of all looks so far.
func (r *rig) looks() (where []string) {
	r.t.Helper()
	for _, raw := range r.world.requests(wire.URLFetch) {
		list, err := wire.ReadURLFetch(raw, nil)
		if err != nil {
			r.t.Fatal(err)
		}
		where = append(where, list[0].SitesCriterion.Where)
	}
	return where
}

// With splitter 1.75 a quarter of the batches is dynamic: those with a draw above it.
func TestDraw(t *testing.T) {
	r := newRig(t, newWorld(1, 1, 12))
	r.crawl(drawing((&chance{numbers: []float64{0.74, 0.76, 0.75, 0}}).next))
	for i, want := range []struct {
		kind           string
		urls           int
		time, ttl      time.Duration
		inner          int64
		static, dynmic int
	}{
		{"<>2", 5, time.Minute, time.Minute, 50, 1, 0},
		{"=2", 2, 100 * time.Second, 200 * time.Second, 80, 1, 1},
		{"<>2", 5, time.Minute, time.Minute, 50, 2, 1},
	} {
		task := r.submitted()
		where := r.looks()
		if got := where[i]; got != "(`State`=1) AND `FetchType`"+want.kind {
			t.Errorf("selection %d: %s", i, got)
		}
		b, err := wire.ReadBatch(task.Stdin, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Items) != want.urls || task.TimeLimit != want.time || task.QueueTTL != want.ttl || b.MaxExecutionTime != want.inner {
			t.Errorf("batch %d: %d items, %v, %v, inner limit %d", i, len(b.Items), task.TimeLimit, task.QueueTTL, b.MaxExecutionTime)
		}
		r.stats(map[string]int{"batches_crawl_fetcher_static": want.static, "batches_crawl_fetcher_dynamic": want.dynmic, "batches_crawl_fetcher_mixed": 0})
		if i == 2 {
			r.env.set(func() { r.env.refuse = executor.ErrRefused })
		}
		r.finish(task, 0, want.urls)
	}
	r.empty()
}

// After an empty selection of one type the other type gets the slot at once. After two empty
// selections the manager is idle until the period.
func TestDrawFindsNothing(t *testing.T) {
	for name, first := range map[string]float64{"dynamic": 0.9, "static": 0.1} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, newWorld(1, 1, 0))
			r.crawl(drawing(func() float64 { return first }))
			r.stats(map[string]int{"batches_crawl_total": 2})
			r.settled()
			where := r.looks()
			if len(where) != 2 || strings.HasSuffix(where[0], "<>2") != (name == "static") || strings.HasSuffix(where[1], "<>2") == (name == "static") {
				t.Errorf("looks %q", where)
			}
			r.clock.pass(time.Hour)
			r.stats(map[string]int{"batches_crawl_total": 4})
		})
	}
}

func TestFetchTypes(t *testing.T) {
	const whole = `{"splitter":1.75,"dfetcher_BatchMaxExecutionTime":2400,"dfetcher_BatchQueueTaskTTL":2500,"dfetcher_BatchDefaultMaxURLs":4}`
	for text, want := range map[string]FetchTypes{
		"": {}, " ": {}, "null": {}, "{}": {}, whole: {1.75, 2400, 2500, 4}, ` {"splitter":1} `: {Splitter: 1}, `{"splitter":2}`: {Splitter: 2},
	} {
		if got, err := ReadFetchTypes(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, reason := range map[string]string{
		"1.75": "is not an object", `"x"`: "is not an object", `[1]`: "is not an object", `{"splitter":"1.75"}`: "is not an object",
		`{"spliter":1.75}`: "spliter", `{"splitter":0.5}`: "must be 1 to 2", `{"splitter":2.1}`: "must be 1 to 2",
		`{"dfetcher_BatchDefaultMaxURLs":4}`: "must be 1 to 2", `{"splitter":1.5,"dfetcher_BatchDefaultMaxURLs":-1}`: "must be 0 to",
		`{"splitter":1.5,"dfetcher_BatchMaxExecutionTime":999999}`: "must be 0 to 86400", `{"splitter":1.5}{}`: "more text after",
		`{"splitter":1.5,"dfetcher_BatchQueueTaskTTL":1e9}`: "dfetcher_BatchQueueTaskTTL", `{"splitter":`: "is not an object",
	} {
		if got, err := ReadFetchTypes(text); err == nil || !strings.Contains(err.Error(), reason) || got != (FetchTypes{}) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

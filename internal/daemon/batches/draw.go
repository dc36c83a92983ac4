package batches

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/wire"
)

// FetchTypes is BatchDefaultFetchTypeOptions: whether a batch takes sites of one
// way of fetching alone, and what holds for those that a browser fetches (docs/spec/daemon.md
// 2.3). The zero value mixes all sites in one batch.
type FetchTypes struct {
	// Splitter is 1 to 2: a batch is dynamic with the probability 2-Splitter. 0: off.
	Splitter float64 `json:"splitter"`
	// Of dynamic batches, 0: as of the others. Seconds, seconds, URLs per node.
	TaskTime int64 `json:"dfetcher_BatchMaxExecutionTime"`
	TaskTTL  int64 `json:"dfetcher_BatchQueueTaskTTL"`
	MaxURLs  int64 `json:"dfetcher_BatchDefaultMaxURLs"`
}

// ReadFetchTypes reads the JSON object; an empty text, null and {} are off.
func ReadFetchTypes(text string) (FetchTypes, error) {
	var f FetchTypes
	raw := bytes.TrimSpace([]byte(text))
	if len(raw) == 0 || string(raw) == "null" || string(raw) == "{}" {
		return f, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return FetchTypes{}, fmt.Errorf("is not an object of splitter, dfetcher_BatchMaxExecutionTime, dfetcher_BatchQueueTaskTTL and dfetcher_BatchDefaultMaxURLs: %w", err)
	}
	if d.More() {
		return FetchTypes{}, errors.New("has something after the object")
	}
	if !(f.Splitter >= 1 && f.Splitter <= 2) {
		return FetchTypes{}, fmt.Errorf("has splitter %v, must be 1 to 2", f.Splitter)
	}
	for _, n := range []struct {
		name  string
		value int64
		most  int64
	}{
		{"dfetcher_BatchMaxExecutionTime", f.TaskTime, int64(longest / time.Second)},
		{"dfetcher_BatchQueueTaskTTL", f.TaskTTL, int64(longest / time.Second)},
		{"dfetcher_BatchDefaultMaxURLs", f.MaxURLs, maxRows},
	} {
		if n.value < 0 || n.value > n.most {
			return FetchTypes{}, fmt.Errorf("has %s %d, must be 0 to %d", n.name, n.value, n.most)
		}
	}
	return f, nil
}

// fetchTypesVariable shows and takes an object, or its text.
func fetchTypesVariable(p *FetchTypes) manager.Variable {
	get := func() any {
		if p.Splitter == 0 {
			return map[string]any{}
		}
		return *p
	}
	return manager.Object("BatchDefaultFetchTypeOptions", get, func(text string) error {
		f, err := ReadFetchTypes(text)
		if err == nil {
			*p = f
		}
		return err
	})
}

// fetchType is what a batch takes.
type fetchType int

const (
	mixed fetchType = iota
	static
	dynamic
)

// fetchDynamic is the site's FetchType of a page that a browser fetches.
const fetchDynamic = 2

// draw chooses for one batch. A selection of the one type that found nothing is
// followed by one of the other, so that a draw never lets a slot stand empty.
func (c *Crawl) draw() fetchType {
	if c.cfg.FetchTypes.Splitter == 0 {
		c.other = mixed
		return mixed
	}
	if next := c.other; next != mixed {
		c.other = mixed
		return next
	}
	random := c.cfg.Random
	if random == nil {
		random = rand.Float64
	}
	if 1+random() > c.cfg.FetchTypes.Splitter {
		return dynamic
	}
	return static
}

// drewNothing asks for the other type after one that brought no URL; once.
func (c *Crawl) drewNothing(r round) {
	if r.incremental || r.second || r.fetch == mixed {
		return
	}
	c.other = static
	if r.fetch == static {
		c.other = dynamic
	}
	c.Kick(crawlTimer)
}

// drawn changes a selection to what was drawn. Static takes all that is not
// dynamic: external and automatic sites are never left out (docs/spec/daemon.md F19).
func (c *Crawl) drawn(t fetchType) (sites wire.Criterion, most int64) {
	sites, most = c.cfg.SitesCriterion, c.MaxURLs
	var condition string
	switch t {
	case mixed:
		return sites, most
	case static:
		condition = fmt.Sprintf("`FetchType`<>%d", fetchDynamic)
	case dynamic:
		condition = fmt.Sprintf("`FetchType`=%d", fetchDynamic)
		if c.cfg.FetchTypes.MaxURLs > 0 {
			most = c.cfg.FetchTypes.MaxURLs
		}
	}
	if sites.Where != "" {
		condition = "(" + sites.Where + ") AND " + condition
	}
	sites.Where = condition
	return sites, most
}

// timed gives a batch's task its limits of time, and says how long the task may
// start URLs.
func (c *Crawl) timed(fetch fetchType, t *executor.Task) time.Duration {
	if fetch != dynamic {
		return c.innerLimit()
	}
	t.TimeLimit = time.Duration(c.cfg.FetchTypes.TaskTime) * time.Second
	t.QueueTTL = time.Duration(c.cfg.FetchTypes.TaskTTL) * time.Second
	if t.TimeLimit == 0 {
		return c.innerLimit()
	}
	return inner(t.TimeLimit)
}

// counted counts a filled batch by what it took.
func (c *Crawl) counted(fetch fetchType) {
	switch fetch {
	case mixed:
		c.mixed++
	case static:
		c.static++
	case dynamic:
		c.dynamic++
	}
}

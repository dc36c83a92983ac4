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

// FetchTypes is BatchDefaultFetchTypeOptions: whether a batch has sites of one fetch type only,
// and the limits of batches for a browser (docs/spec/daemon.md 2.3). The zero value mixes all
// sites in one batch.
type FetchTypes struct {
	// Splitter is 1 to 2: a batch is dynamic with the probability 2-Splitter. 0: off.
	Splitter float64 `json:"splitter"`
	// Limits of dynamic batches, 0: as of other batches. Seconds, seconds, URLs per node.
	TaskTime int64 `json:"dfetcher_BatchMaxExecutionTime"`
	TaskTTL  int64 `json:"dfetcher_BatchQueueTaskTTL"`
	MaxURLs  int64 `json:"dfetcher_BatchDefaultMaxURLs"`
}

// ReadFetchTypes parses the JSON object. Empty text, null and {} mean off.
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
		return FetchTypes{}, errors.New("has more text after the object")
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

// fetchTypesVariable shows an object and accepts an object or its text.
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

// fetchType is the fetch type of a batch's sites.
type fetchType int

const (
	mixed fetchType = iota
	static
	dynamic
)

// fetchDynamic is the FetchType of a site whose pages a browser fetches.
const fetchDynamic = 2

// drawType chooses the fetch type of one batch. After an empty selection of one type it chooses
// the other, so that a draw never leaves a slot empty.
func (c *Crawl) drawType() fetchType {
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

// drewNothing requests a selection of the other type after an empty one, once.
func (c *Crawl) drewNothing(r round) {
	if r.second || r.fetch == mixed {
		return
	}
	c.other = static
	if r.fetch == static {
		c.other = dynamic
	}
	c.Kick(crawlTimer)
}

// restrictToType restricts a selection to a fetch type. Static means every site that is not dynamic, so
// that external and automatic sites are included (docs/spec/daemon.md F19).
func (c *Crawl) restrictToType(t fetchType) (sites wire.Criterion, most int64) {
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

// setTimeLimits sets the time limits of a batch's task and returns how long the task may start URLs.
func (c *Crawl) setTimeLimits(fetch fetchType, t *executor.Task) time.Duration {
	if fetch != dynamic {
		return c.innerLimit()
	}
	t.TimeLimit = time.Duration(c.cfg.FetchTypes.TaskTime) * time.Second
	t.QueueTTL = time.Duration(c.cfg.FetchTypes.TaskTTL) * time.Second
	if t.TimeLimit == 0 {
		return c.innerLimit()
	}
	return innerLimit(t.TimeLimit)
}

// countBatch counts a filled batch by its fetch type.
func (c *Crawl) countBatch(fetch fetchType) {
	switch fetch {
	case mixed:
		c.mixed++
	case static:
		c.static++
	case dynamic:
		c.dynamic++
	}
}

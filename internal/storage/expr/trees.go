package expr

import "sync"

// trees caches parsed texts: every batch brings the same few criterions, and parsing
// takes most of the time of a call.
var trees = &cache{entries: map[cacheKey]any{}}

const (
	maxCached     = 512     // trees
	maxCachedText = 4 << 10 // bytes of a cached text
)

type cacheKey struct {
	form byte // 'e' expression, 'o' order list, 'q' query
	text string
}

// cache holds at most maxCached trees. A full cache is cleared: a few parses cost less
// than bookkeeping for every hit. It does not keep refusals. Safe for concurrent use.
type cache struct {
	mu      sync.Mutex
	entries map[cacheKey]any
}

func (c *cache) expression(text string) (node, error) {
	v, err := c.get(cacheKey{'e', text}, func() (any, error) { return parseExpression(text) })
	return v, err
}

func (c *cache) order(text string) ([]sortKey, error) {
	v, err := c.get(cacheKey{'o', text}, func() (any, error) { return parseOrder(text) })
	if err != nil {
		return nil, err
	}
	return v.([]sortKey), nil
}

func (c *cache) query(text string) (*query, error) {
	v, err := c.get(cacheKey{'q', text}, func() (any, error) { return parseQuery(text) })
	if err != nil {
		return nil, err
	}
	return v.(*query), nil
}

func (c *cache) get(key cacheKey, parse func() (any, error)) (any, error) {
	c.mu.Lock()
	v, ok := c.entries[key]
	c.mu.Unlock()
	if ok {
		return v, nil
	}
	v, err := parse()
	if err != nil || len(key.text) > maxCachedText {
		return v, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= maxCached {
		clear(c.entries)
	}
	c.entries[key] = v
	return v, nil
}

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

// cachedTree returns the tree of a text from the cache, or parses it.
func cachedTree[T any](c *cache, form byte, text string, parse func(text string) (T, error)) (T, error) {
	key := cacheKey{form, text}
	c.mu.Lock()
	v, ok := c.entries[key]
	c.mu.Unlock()
	if ok {
		return v.(T), nil
	}
	tree, err := parse(text)
	if err != nil || len(text) > maxCachedText {
		return tree, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= maxCached {
		clear(c.entries)
	}
	c.entries[key] = tree
	return tree, nil
}

package fileserver

import (
	"cmp"
	"slices"
	"sync"

	"hce/dc/internal/apps/webserver/packet"
)

// maxClients bounds the clients that are kept apart.
const maxClients = 10_000

// Client is an address with a user agent, and how often it requested something.
type Client struct {
	Address  string `json:"address"`
	Agent    string `json:"userAgent"`
	Requests int64  `json:"requests"`
}

type clientKey struct{ address, agent string }

// clients counts the requests of clients.
type clients struct {
	mu     sync.Mutex
	known  map[clientKey]int64
	others int64
}

func (c *clients) countRequest(address, agent string) {
	key := clientKey{address, packet.Cut(agent, maxShown)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[clientKey]int64{}
	}
	if _, old := c.known[key]; !old && len(c.known) == maxClients {
		c.others++
		return
	}
	c.known[key]++
}

func (c *clients) listClients() (all []Client, others int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, n := range c.known {
		all = append(all, Client{key.address, key.agent, n})
	}
	slices.SortFunc(all, func(a, b Client) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Address, b.Address), cmp.Compare(a.Agent, b.Agent))
	})
	return all, c.others
}

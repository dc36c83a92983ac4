package server_test

import (
	"testing"
	"time"

	"hce/dc/internal/archive/archivetest"
	"hce/dc/internal/archive/client"
)

// load returns the test of 50 clients of a server with a store in memory.
func load(t *testing.T, more func(int) bool) archivetest.Load {
	t.Helper()
	w := start(t, archivetest.New(t), nil)
	return archivetest.Load{
		Clients: 50, Connect: func() *client.Client { return connect(t, w.server.URL(), nil) },
		Crawl: w.Crawl, Store: w.Store, More: more, Pause: 30 * time.Millisecond,
	}
}

// 50 clients read, write and observe at once.
func TestFiftyClients(t *testing.T) {
	load(t, func(round int) bool { return round < 8 }).Run(t)
}

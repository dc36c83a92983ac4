package server_test

import (
	"testing"

	"hce/dc/internal/apps/archive/archivetest"
	"hce/dc/internal/apps/archive/client"
	"hce/dc/internal/testkit/testrelay"
	"hce/dc/internal/testkit/testwait"
)

// load returns the test of 50 clients of a server with a store in memory.
func load(t *testing.T, more func(int) bool) archivetest.Load {
	t.Helper()
	w := start(t, archivetest.New(t), nil)
	return archivetest.Load{
		Clients: 50, Connect: func() *client.Client { return connect(t, w.server.URL(), nil) },
		Crawl: w.Crawl, Store: w.Store, More: more, Each: 10,
	}
}

// 50 clients read, write and observe at once.
func TestFiftyClients(t *testing.T) {
	load(t, func(round int) bool { return round < 5 }).Run(t)
}

// 50 clients whose connections break again and again: no observer misses a crawl or is told of one
// twice, and no file is overwritten.
func TestFiftyClientsOnABadNetwork(t *testing.T) {
	w := start(t, archivetest.New(t), nil)
	relay, err := testrelay.Start(w.server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer relay.Close()
	archivetest.Load{
		Clients: 50, Connect: func() *client.Client { return connect(t, "http://"+relay.Address(), nil) },
		Crawl: w.Crawl, Store: w.Store, More: func(round int) bool { return round < 5 }, Each: 20,
		Cut: func() { relay.Cut(); relay.Mend() },
	}.Run(t)
	testwait.Until(t, "no writer is open", func() bool { return w.OpenWriters() == 0 })
}

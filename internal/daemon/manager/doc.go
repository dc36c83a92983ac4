// Package manager is the loop of one manager: one goroutine that owns its
// sockets, its timers and its state, and talks to the others by messages alone.
//
// A turn of the loop waits for messages until the next timer is due, takes a
// bounded number of messages from each socket, lets requests without an answer
// expire, and runs the timers that are due, however much traffic there is.
//
//	type Sites struct {
//		*manager.Loop
//		served int64
//	}
//
//	func New(cfg manager.Config) *Sites {
//		s := &Sites{Loop: manager.New(cfg)}
//		s.Bind("SitesManager", bus.Inproc("SitesManager"), bus.Options{})
//		s.Handle("SitesManager", wire.ClassClient, int(wire.SiteNew), s.siteNew)
//		s.Every("recrawl", func() time.Duration { return s.period }, s.recrawl)
//		s.Counter("common_operations_cnt", &s.served)
//		return s
//	}
//
//	func (s *Sites) siteNew(from manager.Peer, e wire.Event) {
//		s.served++
//		s.Reply(from, e, int(wire.SiteNew)+wire.ResponseOffset, wire.GeneralResponse{})
//	}
//
//	err := New(cfg).Run(ctx)
//
// The law: New opens nothing. Everything before Run declares; everything after
// it is called from the loop's own goroutine: handlers, timers, the functions
// given to Ask and Go. So a manager needs no mutex. None of them may block: slow
// work goes to a worker (Go), which reports by message. One request, one
// answer: a result, an error, "unknown", or a time-out.
//
// The loop also serves the operator (docs/spec/daemon.md 4): it announces itself to
// AdminInterfaceServer and answers STAT, GET, SET, STATE and SUSPEND from the
// variables and statistics that were declared.
//
// Neighbours: bus below; admin, clients, sites, realtime and batches above.
package manager

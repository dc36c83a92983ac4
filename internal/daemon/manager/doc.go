// Package manager is the loop of one manager: a goroutine that owns its sockets, timers and
// state, and talks to other managers by messages only.
//
// One turn waits for messages until the next timer is due, takes a limited number of messages
// from each socket, expires requests without an answer, and runs the due timers.
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
// Before Run, methods only declare; New opens nothing. After that, all code runs in the
// loop's goroutine: handlers, timers, the callbacks of Ask and Go. So a manager needs no
// mutex, and no callback may block: slow work goes to a worker (Go, Work), whose end is a message.
// Each request gets exactly one answer: a result, an error, "unknown", or a timeout.
//
// The loop also serves operators (docs/spec/daemon.md 4): it registers with
// AdminInterfaceServer and answers STAT, GET, SET, STATE and SUSPEND.
package manager

// Package bus carries events between goroutines and machines over ZMQ.
//
// A message is routing frames and one last frame, the JSON of a [wire.Event]
// (docs/spec/DECISIONS.md 1.1). ROUTER sockets bind, DEALER sockets connect.
//
//	b, err := bus.New()
//	server, err := b.Bind("tcp://127.0.0.1:5504", bus.Options{})
//	client, err := b.Connect(server.Endpoint(), bus.Options{})
//	err = client.Send(nil, event)     // never waits
//
//	poll := bus.NewPoller(server)
//	ready, err := poll.Wait(200 * time.Millisecond)
//	m, err := ready[0].Recv()         // never waits
//	err = server.Send(m.Route, answer)
//
//	server.Close()
//	client.Close()
//	err = b.Term(5 * time.Second)     // after all sockets
//
// A Bus is safe for concurrent use. A socket belongs to one goroutine; a go statement may
// hand it over before its first use. A send never waits: it returns [ErrBusy] if the queue
// is full and [ErrGone] if the peer has disconnected.
//
// With keys ([Curve]) TCP is encrypted. libzmq asks the ZAP handler of the bus in each
// handshake (ZeroMQ RFC 27); each message is checked again. A refused client gets no answer.
// Refusals are logged at a limited rate. An address that other machines can reach needs keys
// or AllowInsecure.
//
// Limits: the frame size and the high-water mark bound a TCP peer. libzmq counts whole
// messages, so a peer that never ends a message of many frames is not bounded. A peer may
// also choose its routing id (see seedRoutingIDs). Both are reasons to listen on loopback or
// with keys only.
package bus

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
// libzmq carries messages inside the process and connects to other machines. A socket that
// listens on TCP is a server of ZMTP 3 in Go (listener.go): libzmq allocates each announced frame
// and has no limit for all peers together.
//
// With keys ([Curve]) TCP is encrypted (ZeroMQ RFC 26). Each client is checked in the handshake
// and at each message. A refused client gets no answer. Refusals are logged at a limited rate. An
// address that other machines can reach needs keys or AllowInsecure.
//
// Limits of a socket that listens: [Options.Connections]; the requests of all peers that are
// under way, in number and in bytes ([Budget]); the size of a request by its operation. The length
// of a request is admitted before its bytes are read. A request that is not admitted is answered
// with the limit; with keys its connection ends, because its uid cannot be read before its end.
// Peers take turns, request by request. A peer that does not read its answers is not read.
package bus

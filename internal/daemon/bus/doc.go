// Package bus carries events between goroutines and between machines: one ZMQ
// context per daemon, its ROUTER and DEALER sockets, the frames of an event and
// one turn of waiting for several sockets.
//
// A message is any routing frames and then exactly one frame, the JSON of a
// [wire.Event] (docs/spec/DECISIONS.md 1.1). What an event means is not known here.
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
//	err = b.Term(5 * time.Second)     // last of all
//
// A socket belongs to one goroutine; it may be handed over by a go statement
// before its first use. A Bus may be used by all. A send never waits: a full
// queue is [ErrBusy], a peer that left is [ErrGone].
//
// With keys ([Curve]) a TCP connection is encrypted, and a binding socket knows
// its clients: libzmq asks the door of the bus in each handshake (ZeroMQ RFC 27),
// which asks the list of that socket by the client's public key, and each message
// is checked against the list again. Who is refused gets no answer, and leaves a
// line in the log, but not a line each. An address that other machines reach needs
// keys or AllowInsecure; names are no addresses ([Local]).
//
// What a TCP peer can do is bounded by the size of one frame and by the
// high-water mark. libzmq counts whole messages, so a peer that never ends a
// message of many frames is held by nothing; and it lets a peer bring a routing id
// of its own, which nobody must be able to guess (see seed). For both, sockets
// listen on the loopback address or to those who have keys, unless told otherwise.
//
// Neighbours: manager, which builds the loop of a manager on it, and client; keys
// reads the files of keys and lists.
package bus

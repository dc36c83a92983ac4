// Package places bounds the connections of a port. A new connection takes the place of an idle one.
//
//	l := places.New(listener, 256)      // of net.Listen
//	l.Serve(httpServer, isHealth)       // an HTTP server: a connection without a whole head is idle
//
// When all places are taken, a new connection gets the one of an idle connection: of the address with the most
// connections, the one that is idle for the longest time (Loser). So thousands of silent or slow clients, of one address
// or of many, keep no other client from its answer. A request is never ended: if no connection is idle, health checks have places of their own
// (Serve), and others are told to come again.
//
// A server that reads another protocol tells by Conn.Begin and Conn.End what its connections do.
package places

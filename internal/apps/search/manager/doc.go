// Package manager is the Query Manager: it passes questions of the front end on to Query Processors,
// which join and leave at run time.
//
//	m := manager.New(manager.Config{Bus: b, Endpoint: bus.TCP("127.0.0.1", 5511)})
//	go m.Run(ctx)
//	c := manager.Client{Bus: b, Endpoint: m.Local(), Timeout: 6 * time.Second}
//	reply, err := c.Ask(ctx, search.Ask{Op: search.OpSearch, Kind: search.Pages, Text: "kernel", Limit: 10})
//
// One goroutine owns the sockets and all state: a TCP socket for processors and programs, and one
// inside of the process for the front end. Both speak the same messages.
//
// A processor pulls. Each of its connections sends Take, which has the name, the kinds, the number of
// connections and the test delay of the processor, and waits. The manager answers with a question, or
// with none after takeLimit; the connection sends the Result and takes again. So a processor never
// has more questions than connections, and its first Take is how it joins. Every half second it also
// sends Alive, with the questions that it is working on.
//
// A question waits in one FIFO queue until a processor of its kind has a free connection. Processors
// take turns: five questions for two processors with two connections each go to 1, 2, 1, 2, and the
// fifth waits. A question that waits for a kind without a free processor does not hold up others. The
// queue has a limit, beyond which questions are refused at once, and a question has a deadline.
//
// A processor that is silent for Silence is lost: its questions go back to the front of the queue, and
// another processor gets them. So do questions that a processor does not report as its work, because
// the connection broke. A question that took attempts processors with it gets an error.
package manager

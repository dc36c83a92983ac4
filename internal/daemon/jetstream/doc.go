// Package jetstream runs tasks on the nodes of a cluster. [Executor] is the side of the head and
// implements executor.Executor; [Serve] is the side of a node and runs the tasks on the node's own
// pool. Package broker carries the messages.
//
//	e, err := jetstream.New(conn, jetstream.Config{Known: keys}) // head
//	err = e.Submit(ctx, executor.Task{ID: "4f2a90c1", Type: "crawl", Stages: stages, Stdin: batch})
//
//	node, err := jetstream.Serve(ctx, conn, jetstream.ServeConfig{Name: "alpha", Pool: pool, // node
//		Programs: map[string]executor.Stage{"crawler-task": {Program: "/usr/lib/dc/crawler-task", Args: args}}})
//	<-node.CaughtUp()
//
// A task names programs by their base names. A node starts only programs of its own configuration,
// and accepts only arguments of ServeConfig.Extra from the head.
//
// # Who owns which state
//
//	key head.ID of table tasks     the task and, if the head ended it, its end: only the head writes
//	keys head.ID.N                 its input in parts: only the head
//	key NAME.ID                    start and result on the node NAME: only that node
//	stream TASKS                   a notice that a task waits; it never decides anything
//	stream JOURNAL                 tasks that each node runs once, in order
//	keys head.journal=KEY.N        large inputs of the journal; until all nodes have run all of it
//	key NAME of table nodes        the node's last sign of life
//
// The head decides who starts a task: a node that takes a notice asks it. It grants a task to a second
// node only if the first one has not confirmed its lease for the whole ack wait. The first one
// kills its processes after two thirds of the ack wait without a confirmation. So two runs never
// overlap, whatever the broker delivers, and a task whose result is stored never runs again.
//
// # A submitted task
//
//  1. Submit stores the input, then creates the key head.ID, which accepts the task, then
//     publishes the notice with the id of the task as message id.
//  2. A node pulls a notice while it has a slot of that type. It tests the start conditions. If they
//     fail, the notice goes back, and any node looks again after RetryDelay.
//  3. The node reads the input from the head and asks for the task. The head counts the attempt. A
//     cancelled, expired, running or ended task is not granted; its notice is dropped.
//  4. The node stores "running", runs the task, and renews its lease three times per ack wait.
//  5. The node stores the result, in an object if it is large, and then acknowledges the notice.
//
// A kill, or a lost connection:
//
//	of the head, before key head.ID       the task is not accepted; the next New removes its parts
//	of the head, before the notice        the next New publishes it: see Executor.runClock
//	of the head, later                    the nodes continue for two thirds of the ack wait; the next New
//	                                      reads the keys, and the nodes renew their leases there
//	of the node, before "running"         the lease ends; the head grants the task to another node
//	of the node, while the task runs      its processes die with it (executor.Local); as above, while
//	                                      attempts remain. A task for a named node is Lost: it never moves
//	of the node, after the result         the notice comes again; the head drops it
//	of the server                         all of the above are on its disk; a result waits in its node
//
// A result that a node stores after its task moved has no effect.
//
// # Run
//
// Run asks each node directly and stores nothing. The result of a node that is not connected, becomes
// silent or starts again is Lost. If the head is killed, the nodes kill its Runs within the ack wait.
//
// # The journal
//
// Run of a task with Journal stores a large input, appends the task to the stream JOURNAL, and waits for
// the nodes that are there. Each node runs the journal in order, one task at a time, sends the result to
// the head and then acknowledges the task. A node that was away runs what it missed before it
// answers Runs or takes tasks: [Node.CaughtUp]. A kill before the acknowledgement runs a task a second
// time, so such tasks are idempotent. A task that fails is tried three times; then its failure is the
// result, and the journal goes on. While its program reports a fault of the machine, such as a full
// disk, it is tried without a limit, and the journal waits. The head may die after the append: the nodes run the task anyway.
//
// # Limits
//
// There must be one head. A task runs only while the head confirms its lease: a head that is away for
// more than two thirds of the ack wait ends the running tasks, which start again later. Results above
// 512 KiB end after 48 hours (broker.Objects), smaller ones with Delete. A submitted task is for one node.
package jetstream

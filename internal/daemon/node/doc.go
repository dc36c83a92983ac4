// Package node is NodeAgent: it makes the managers of one machine a data node of a cluster. It
// connects to the broker, keeps the node's membership, applies the placement, and moves links to
// their owners.
//
//	agent := node.New(manager.Config{Bus: b, Log: log}, node.Config{
//		Join: join, Pool: pool, DBTask: dbTask, Placement: "data/placement.json", Enter: enter,
//		Held: []string{"BatchTasksManager", "BatchTasksManagerProcess"},
//	})
//	err := agent.Run(ctx)
//
// # Lease
//
// The batch managers start held. They go on when the node has applied the journal that it missed,
// has a placement, and the broker has confirmed its membership within Lease. When the last
// confirmation is older, the agent holds them and cancels their tasks, which store what they have and
// hand the rest back. So a node that is cut off stops requesting pages at most Lease/5 and
// the grace of a kill after the lease has ended, and goes on by itself when the broker is back.
//
// # Links
//
// Out, one round at a time: LINKS_TAKE (db-task) gives unsent links of one owner, Publish appends
// them to the stream LINKS with a digest of them as message id, LINKS_SENT marks them. In, one
// delivery at a time: LINKS_STORE stores the links, Ack finishes the delivery, the crawl
// manager gets a hint. A round starts after a task of a batch manager has ended, at the start and
// when the broker is back; an idle node runs none.
//
// What a kill does, at each point:
//
//	before Publish, or during it     LINKS_TAKE gives the links again
//	after Publish, before LINKS_SENT they are published again: within two minutes the stream drops
//	                                 the copy by its id, later the owner stores known rows once
//	during LINKS_SENT                one transaction: as before or after it
//	before LINKS_STORE has committed the delivery comes again after the ack wait
//	after it, before Ack             the delivery comes again; its links are known rows
//	after Ack, before the hint       the crawl manager looks by itself after its period
//
// So a link is in the table of its sender, in the stream, or in the table of its owner at any
// moment, and a second delivery changes nothing.
//
// # Placement
//
// The agent writes placement.json, which task programs read, when the key "placement" of the table
// "cluster" changes. It is replaced atomically; a kill leaves the old or the new one. A node that
// starts without the broker has the file of its last run, and works only when it has its lease.
package node

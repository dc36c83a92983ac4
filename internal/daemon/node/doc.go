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
// them to the stream LINKS with a digest of them as message id, LINKS_SENT marks them. In, the deliveries
// of one round together: LINKS_STORE stores the links in one transaction, Ack finishes each delivery, the
// crawl manager gets a hint. If they cannot be stored together, each is stored alone. A round starts every
// few seconds while a task of a batch manager runs, after it has ended, at the start and when the broker is
// back; an idle node runs none, and stores at once what comes.
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
// # Limits of sites
//
// The node has a lease of the limits of each site. A round of QUOTA_READ (sites that want more), a
// question to the head and QUOTA_SET (its orders) starts when one of links does, and again after a pause
// while something waits. The head asks too, for what is not used here. Orders have numbers: one that is
// repeated, late or older than the last one changes nothing (docs/decisions/0019-quota.md).
//
// # Placement
//
// The agent writes placement.json, which task programs read. It is replaced atomically; a kill leaves
// the old or the new one. Until the first entry of the journal it follows the key "placement" of the
// table "cluster". From then on only entries of the journal change it, each by one step of a change of
// the members, after the hosts of that step have moved (docs/decisions/0018-moving-hosts.md). A node
// that owns no hosts acknowledges other entries unread. A node that starts without the broker has the
// file of its last run, and works only when it has its lease.
//
// # Moving hosts
//
// In a step the node holds its batch managers and stores no links. It sends a pack and the delays of
// the hosts that leave to each member, stores what the members before the change send, confirms that,
// and deletes what it gave when all have confirmed. What a kill does, at each point:
//
//	before the packs are written      the entry comes again, and they are written again
//	while parcels are sent or staged  half ones are removed at the start; the sender repeats all
//	after HOSTS_UNPACK                the note in the store says that the hosts came; the node confirms again
//	before HOSTS_DROP                 the sender sends again, and is confirmed at once
//	after it, before placement.json   the note in the store says that they left; nothing is sent
//	after placement.json              a repeated entry does nothing; late parcels are confirmed
package node

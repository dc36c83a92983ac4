// Package head makes a daemon the head of a cluster of data nodes: it starts or joins the broker,
// keeps the list of members, runs the tasks of the managers on the nodes, and is the manager
// Cluster, which serves "dc-admin node".
//
//	h, err := head.Open(ctx, head.Config{Folder: "data/cluster", Hosts: true, Executor: open, Log: log})
//	defer h.Close(ctx)
//	results, err := h.Run(ctx, task)         // on the nodes
//	node := h.Owner("http://example.org/a")  // the member that owns the host
//	err = head.NewManager(base, h).Run(ctx)
//
// # Members
//
// A node with a key becomes a member at its first sign of life. Until the journal of changes has an
// entry, the head adds its name to the key "placement" of the table "cluster" with a new epoch, and all
// nodes follow that key. The first entry seals it: the key "base" keeps the placement, and from then on
// hosts move together with their rows, in steps that are entries of the journal. One goroutine
// (Head.settleMembers) makes the members those that are wanted: all that have joined, without those that leave
// or are lost (key "gone"). Members stay members while they are away, and a change waits for them.
//
// Requests wait while a step moves hosts, because a host can be on two nodes then, or on none. They do
// not wait while a node is silent: their answers have an error for it anyway.
//
// With Hosts = false (placement = propagate) any node holds any row. Nodes are then members in the
// key "members", which no node follows, and may join at any time.
//
// # Limits of sites
//
// The limits of a site hold for all nodes. The head keeps a ledger for each site in the table "quota" and
// gives the nodes leases when they ask (docs/decisions/0019-quota.md).
//
// # Kill
//
// The placement is one key, written with the revision that was read: a kill leaves the old or the
// new one. Within a change the head appends the same step again, which does nothing on nodes that have
// done it. A node whose key was created although the head was killed before the answer has no join
// file: "dc-admin node remove" and "add" again give it one. Remove revokes the key first, then
// deletes consumers and records; a second remove finishes what a kill left.
package head

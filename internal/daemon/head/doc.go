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
// A node with a key becomes a member at its first sign of life: the head adds its name to the key
// "placement" of the table "cluster", {"epoch", "members"}, with a new epoch. All members follow
// that key, because it says who owns which host. So a node may join only while the journal of
// changes is empty, that is before the first site: later its hosts belong to other members
// already. The head refuses it then, and says so in "dc-admin node ls" and in its log. Members
// stay members while they are away.
//
// With Hosts = false (placement = propagate) any node holds any row. Nodes are then members in the
// key "members", which no node follows, and may join at any time.
//
// # Kill
//
// The placement is one key, written with the revision that was read: a kill leaves the old or the
// new one. A node whose key was created although the head was killed before the answer has no join
// file: "dc-admin node remove" and "add" again give it one. Remove revokes the key first, then
// deletes consumers and records; a second remove finishes what a kill left.
package head

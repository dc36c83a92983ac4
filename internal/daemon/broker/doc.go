// Package broker connects the machines of a cluster: it runs a NATS server with JetStream inside
// of the head, or uses an external one, and gives requests, durable streams, tables and large
// objects to the packages above. It is the only package that imports NATS.
//
//	keys, err := broker.OpenKeys("data/cluster/keys")
//	server, err := broker.StartServer(broker.ServerConfig{Folder: "data/cluster", Keys: keys})
//	conn, err := broker.Dial(ctx, server.Local())
//	err = conn.Provision(ctx, broker.ProvisionConfig{Nodes: []string{"alpha"}})
//
//	replies, err := conn.Request(ctx, broker.NodeSubject("alpha", "stat"), nil, 1)
//	err = conn.Publish(ctx, "journal.site", task.ID, body)
//
// # Subjects
//
//	dc.node.NAME.>    requests to one node; only the head publishes
//	dc.all.>          requests to all nodes; only the head publishes
//	dc.head.NAME.>    requests of the node NAME to the head
//	dc.reply.TO.ID.BY replies to the request ID of TO by BY; only BY publishes
//	journal.>         stream JOURNAL: what each node applies in order; only the head publishes
//	tasks.any.TYPE    stream TASKS: tasks for any node, durable consumer any-TYPE
//	tasks.node.NAME.> stream TASKS: tasks for one node, durable consumer node-NAME
//	links.NAME        stream LINKS: links to hosts of NAME, durable consumer node-NAME
//	moves.NAME        stream LINKS: hosts that move to NAME, durable consumer moves-NAME
//	large.BY.TO.ID.N  stream LARGE: chunks of objects, see Objects
//	$KV.BUCKET.KEY    tables: nodes (a node writes its own key), cluster and quota (the head writes), tasks
//
// # Who may do what
//
// Each connection proves an nkey (Ed25519) by signing a nonce. The head may do everything. A node
// may publish, subscribe and read only what its name needs: see Permissions. The head alone
// creates streams and consumers, because a consumer can deliver to any subject. The embedded server
// gives each node an account of its own, so that a reply subject that a node chooses reaches
// no other client; ExternalConfig does not.
//
// # Kill and power cut
//
// A publish is acknowledged after the stream has written and synced it (SyncAlways): it survives
// a kill and a power cut of the server. Publish may fail although the stream has the message (the
// acknowledgement was lost); publishing again with the same id within two minutes stores it
// once, as long as the stream still has the message. The ids are kept in memory and are read from the
// stream when the server starts: after a restart, a message that was acknowledged and removed is
// accepted again, and is delivered a second time. That harms no consumer: a task starts when the head
// grants it, a link or a part of a moving host is a known row, and orders of the journal are published one at
// a time, so that the copy follows its original. A delivery without Ack comes again after the ack wait of its
// consumer; Ack returns after the server has confirmed it. The state of a consumer is written with a short delay: a power cut
// may deliver an acknowledged message again, so handlers are idempotent. The table "nodes" is in
// memory: after a restart of the server the nodes write it again.
//
// Cost: one fdatasync for each message of a stream on disk. Pages do not pass the broker in the
// placement "hosts"; links pass it in groups.
package broker

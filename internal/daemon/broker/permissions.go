package broker

// Permissions are the subjects that one key may publish and subscribe; all others are refused.
type Permissions struct {
	Publish, Subscribe []string
}

// inboxPrefix is the prefix of the reply subjects of the JetStream interface, one for each name.
func inboxPrefix(name string) string { return "_INBOX_" + name }

// PermissionsOf returns what the key of a name may do. A node may do what its name needs: answer
// requests, ask the head, take and acknowledge messages of its own consumers and of those that
// all nodes share, send links, write its own key of "nodes" and its keys of "tasks" (NAME.ID),
// read "cluster", send objects to the head and read those sent to it.
//
// Known limit: a node may acknowledge a task of another node that both took from the shared
// consumer any-TYPE, because the subject of an acknowledgement does not name the taker.
func PermissionsOf(name string) Permissions {
	if name == Head {
		all := []string{"dc.>", "journal.>", "tasks.>", "links.>", "moves.>", "large.>", "$KV.>", "$JS.API.>", "$JS.ACK.>", "$JS.FC.>", "_R_.>"} // _R_: answers to nodes
		return Permissions{Publish: all, Subscribe: []string{"dc.>", inboxPrefix(Head) + ".>"}}
	}
	publish := []string{
		"dc.reply.*.*." + name,
		"dc.head." + name + ".>",
		"links.*",
		"moves.*",
		"large." + name + "." + Head + ".>",
		"$KV.nodes." + name,
		"$KV.tasks." + name + ".>",
		"$JS.API.STREAM.INFO.KV_nodes",
		"$JS.API.STREAM.INFO.KV_cluster",
		"$JS.API.STREAM.INFO.KV_tasks",
		"$JS.API.DIRECT.GET.KV_nodes.$KV.nodes." + name,
		"$JS.API.DIRECT.GET.KV_cluster.$KV.cluster.>",
		"$JS.API.DIRECT.GET.KV_tasks.$KV.tasks." + name + ".>",
		"$JS.API.DIRECT.GET." + streamLarge + ".large.*." + name + ".>",
	}
	for _, stream := range []string{StreamJournal, StreamTasks, StreamLinks} {
		publish = append(publish, consumerSubjects(stream, NodeDurable(name))...)
	}
	publish = append(publish, consumerSubjects(StreamLinks, MovesDurable(name))...)
	for _, taskType := range TaskTypes {
		publish = append(publish, consumerSubjects(StreamTasks, AnyDurable(taskType))...)
	}
	return Permissions{Publish: publish, Subscribe: []string{
		"dc.node." + name + ".>", "dc.all.>", "dc.reply." + name + ".>", inboxPrefix(name) + ".>",
	}}
}

// consumerSubjects lists the subjects that a taker of a consumer needs.
func consumerSubjects(stream, durable string) []string {
	return []string{
		"$JS.API.CONSUMER.INFO." + stream + "." + durable,
		"$JS.API.CONSUMER.MSG.NEXT." + stream + "." + durable,
		"$JS.ACK." + stream + "." + durable + ".>",
	}
}

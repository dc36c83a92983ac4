// Package cluster has the messages between the head of a cluster and its nodes, and between the agents of nodes and their
// db-tasks: links for hosts of other nodes, moves of hosts, limits of sites, identities of nodes and commands of operators.
//
//	var taken cluster.LinksTaken // the answer to LINKS_TAKE
//	for _, group := range taken.Owners {
//		send(group.Owner, group.Message)
//	}
//
// Package placement says which node owns a host. Source: docs/decisions/0017-cluster.md,
// docs/decisions/0018-moving-hosts.md and docs/decisions/0019-quota.md.
package cluster

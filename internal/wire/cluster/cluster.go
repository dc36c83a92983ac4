package cluster

import "encoding/json"

// Commands of AdminCluster.
const (
	List    = "list"
	Add     = "add"     // the answer has Join
	Drain   = "drain"   // the answer has State
	Undrain = "undrain" // the answer has State
	Remove  = "remove"  // the answer has State: removed, or leaving while its hosts move
	Lost    = "lost"    // the answer has State
	Accept  = "accept"  // the answer has State
)

// Command is the object of AdminCluster.
type Command struct {
	ClassName string `json:"className"`
	Command   string `json:"command"`
	Node      string `json:"node,omitempty"`
}

// Answer is the object of AdminClusterAns. A refused command is answered by an AdminCommand
// with the reason.
type Answer struct {
	ClassName string          `json:"className"`
	Nodes     []Node          `json:"nodes,omitempty"`
	Join      json.RawMessage `json:"join,omitempty"`  // the join file, with the secret of the node
	State     string          `json:"state,omitempty"` // working, draining, drained, leaving, lost, removed or accepted
}

// Node is one node of a cluster, as the head sees it.
type Node struct {
	Name    string  `json:"name"`
	Address string  `json:"address,omitempty"`
	State   string  `json:"state"`            // added, ready, draining, catching-up, closing or silent
	Member  bool    `json:"member"`           // it owns hosts, or may get batches
	Reason  string  `json:"reason,omitempty"` // why it is no member, or how far its hosts have moved
	Load    float64 `json:"load"`             // load average over one minute; -1: not known
	Busy    int     `json:"busy"`             // running tasks, its own ones and those of the head
	Slots   int     `json:"slots"`
	Seen    string  `json:"seen,omitempty"` // the last sign of life, UTC
	Version string  `json:"version,omitempty"`
	Lag     int64   `json:"lag"` // changes that it has not applied yet; -1: not known
	// Refused are processes with the identity of this node that are not the node.
	Refused []RefusedNode `json:"refused,omitempty"`
}

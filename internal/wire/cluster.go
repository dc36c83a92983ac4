package wire

import "encoding/json"

// AdminCluster is an operator's command to the manager Cluster, and AdminClusterAns its answer.
const (
	AdminCluster    = 1030
	AdminClusterAns = 126
)

// Commands of AdminCluster.
const (
	ClusterList    = "list"
	ClusterAdd     = "add"     // the answer has Join
	ClusterDrain   = "drain"   // the answer has State
	ClusterUndrain = "undrain" // the answer has State
	ClusterRemove  = "remove"  // the answer has State: removed, or leaving while its hosts move
	ClusterLost    = "lost"    // the answer has State
	ClusterAccept  = "accept"  // the answer has State
)

// ClusterCommand is the object of AdminCluster.
type ClusterCommand struct {
	ClassName string `json:"className"`
	Command   string `json:"command"`
	Node      string `json:"node,omitempty"`
}

// ClusterAnswer is the object of AdminClusterAns. A refused command is answered by an AdminCommand
// with the reason.
type ClusterAnswer struct {
	ClassName string          `json:"className"`
	Nodes     []ClusterNode   `json:"nodes,omitempty"`
	Join      json.RawMessage `json:"join,omitempty"`  // the join file, with the secret of the node
	State     string          `json:"state,omitempty"` // working, draining, drained, leaving, lost, removed or accepted
}

// ClusterNode is one node of a cluster, as the head sees it.
type ClusterNode struct {
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

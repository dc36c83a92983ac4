package cluster

import "time"

// IdentitiesKey is the key of the table "cluster" with HeadStarts. It exists if the head decides which process is a
// node.
const IdentitiesKey = "identities"

// HeadStarts names the starts of the head, the last one last, at most MostStarts. A node that knows a start that a head
// does not have is at an older copy of its head.
type HeadStarts struct {
	Starts []string `json:"starts"`
}

// MostStarts bounds HeadStarts.
const MostStarts = 5000

// IdentityKey is the key of the table "cluster" with the NodeIdentity of a node.
func IdentityKey(node string) string { return "identity." + node }

// NodeIdentity says which data folder and which process are a node. All names are random but for Place.
type NodeIdentity struct {
	Folder  string `json:"folder"`  // made with the data folder; a copy of the folder has it too
	Key     string `json:"key"`     // changes when the folder is used at another place; an older copy has an older one
	Epoch   int64  `json:"epoch"`   // how often Key has changed
	Place   string `json:"place"`   // the machine since its start, and the folder on its disk; "": unknown
	Process string `json:"process"` // made at each start
	Session string `json:"session"` // made for each connection; signs of life have it

	Lease time.Duration `json:"lease"` // how long the node works without a confirmation
	Host  string        `json:"host"`  // this and the rest are for people
	Path  string        `json:"path"`  // of the data folder
	PID   int           `json:"pid"`
	Since string        `json:"since,omitempty"` // when the head accepted it, UTC
	// Accept lets any folder be the node once, as an operator decided.
	Accept bool `json:"accept,omitempty"`
}

// IdentityClaim is the request of a process to be its node.
type IdentityClaim struct {
	NodeIdentity
	Next     string `json:"next"`               // the key if the folder is at another place now; the folder has it already
	Previous string `json:"previous,omitempty"` // the last session of this process
}

// IdentityAnswer is the answer to an IdentityClaim: the key and the epoch of the folder, or one of the other two.
type IdentityAnswer struct {
	Key   string `json:"key,omitempty"`
	Epoch int64  `json:"epoch,omitempty"`
	// Revision is that of the stored NodeIdentity; a broker of several servers may show an older one for a moment.
	Revision uint64 `json:"revision,omitempty"`
	Wait     string `json:"wait,omitempty"`    // why the process must ask again
	Refused  string `json:"refused,omitempty"` // why it must end, and what to do
}

// RefusedNode is a process that is not the node whose identity it has.
type RefusedNode struct {
	Host   string `json:"host"`
	Path   string `json:"path"`
	PID    int    `json:"pid"`
	Folder string `json:"folder"`
	Seen   string `json:"seen"` // the last attempt, UTC
	Reason string `json:"reason"`
}

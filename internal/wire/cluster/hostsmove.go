package cluster

import (
	"cmp"
	"fmt"
	"path/filepath"

	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/placement"
)

// Our own operations that move hosts between the nodes of a cluster (package placement,
// docs/decisions/0018-moving-hosts.md). A node's agent sends them to its db-task while it applies
// the entry of the journal that moves a group; clients cannot call them. No batch and no other
// operation changes rows at that time.
//
//	HOSTS_PACK on the old owner     {"move":{...}}  -> {"packs":[{"to":"n3","file":"7-0-n1-n3.pack","rows":812,"bytes":9120034}]}
//	HOSTS_UNPACK on the new owner   {"epoch":7,"group":0,"from":"n1","file":"7-0-n1-n3.pack"} -> {"rows":812}
//	HOSTS_DROP on the old owner     {"move":{...}}  -> {"rows":812}
//	HOSTS_ADOPT on each other node  {"placement":{...}} -> {"rows":3}, after a node was lost
//	HOSTS_STATE on any node         {"epoch":7,"group":0} -> {"rows":81200,"came":["n1"]}; it changes nothing
//
// Each of them may be repeated after a kill at any place, and then changes nothing more.

// MoveTask is the type of the task of the journal that makes a step.
const MoveTask = "move"

// HostsMove is one step of a change of members: the hosts of group Moved of the placement go from
// their owners among Previous to their owners among Members.
type HostsMove struct {
	placement.Placement
}

// Check refuses a placement without a change, or one whose groups have all moved.
func (m HostsMove) Check(object string) error {
	err := m.Placement.Check()
	if err == nil && m.Moved >= m.Groups {
		err = fmt.Errorf("%w: no group is left to move", placement.ErrInvalid)
	}
	if err == nil {
		return nil
	}
	return &lenient.FieldError{Object: object, Field: "move", Reason: err.Error()}
}

// Next is the placement after this step.
func (m HostsMove) Next() placement.Placement { return m.After(m.Moved + 1) }

// Target returns the node that a URL of this node goes to; "" if it stays, or does not belong to
// this node.
func (m HostsMove) Target(url string) string {
	if m.GroupOfURL(url) != m.Moved || !m.Mine(url) {
		return ""
	}
	if to := m.Next().OwnerOfURL(url); to != m.Self {
		return to
	}
	return ""
}

// HostsPackRequest is the object of HOSTS_PACK and of HOSTS_DROP.
type HostsPackRequest struct {
	Move HostsMove `json:"move"`
}

// Check checks the step.
func (r HostsPackRequest) Check(object string) error { return r.Move.Check(object) }

// HostsPacked is the answer to HOSTS_PACK: a file for each node that gets hosts. They are durable. Done:
// HOSTS_DROP has already ended the step on this node; then there are no files.
type HostsPacked struct {
	Packs []HostsPackFile `json:"packs"`
	Done  bool            `json:"done"`
}

// HostsPackFile is a file in the folder of moves of the node (key moves of db-task.ini).
type HostsPackFile struct {
	To    string `json:"to"`
	File  string `json:"file"` // its base name
	Rows  int64  `json:"rows"` // URLs
	Bytes int64  `json:"bytes"`
	// Damaged counts the rows with damaged contents, which the new owner makes again.
	Damaged int64 `json:"damaged,omitempty"`
}

// HostsUnpackRequest is the object of HOSTS_UNPACK.
type HostsUnpackRequest struct {
	Epoch int64  `json:"epoch"`
	Group int    `json:"group"`
	From  string `json:"from"`
	File  string `json:"file"` // base name of a file in the folder of moves of this node; "": nothing came
}

// Check refuses a file with a folder.
func (r HostsUnpackRequest) Check(object string) error {
	var err error
	if r.File != "" && (r.File != filepath.Base(r.File) || r.File[0] == '.') {
		err = &lenient.FieldError{Object: object, Field: "file", Value: r.File, Reason: "is not the base name of a file"}
	}
	if r.From == "" {
		err = cmp.Or(err, error(&lenient.FieldError{Object: object, Field: "from", Reason: "is missing"}))
	}
	return err
}

// HostsAdoptRequest is the object of HOSTS_ADOPT: the roots of sites that this node owns by the
// placement get a row if they have none, and links that were sent once are sent again when a page
// names them.
type HostsAdoptRequest struct {
	Placement placement.Placement `json:"placement"`
}

// Check checks the placement.
func (r HostsAdoptRequest) Check(object string) error {
	if err := r.Placement.Check(); err != nil {
		return &lenient.FieldError{Object: object, Field: "placement", Reason: err.Error()}
	}
	return nil
}

// HostsMoved is the answer to HOSTS_UNPACK, HOSTS_DROP and HOSTS_ADOPT.
type HostsMoved struct {
	Rows     int64 `json:"rows"`     // URLs that came, went, or were adopted
	Repeated bool  `json:"repeated"` // the step was done before, and Rows is 0
}

// HostsStateRequest is the object of HOSTS_STATE: a step.
type HostsStateRequest struct {
	Epoch int64 `json:"epoch"`
	Group int   `json:"group"`
}

// Check accepts all steps.
func (r HostsStateRequest) Check(string) error { return nil }

// HostsCounted is the answer to HOSTS_STATE.
type HostsCounted struct {
	Rows int64    `json:"rows"` // URLs of this node
	Came []string `json:"came"` // nodes whose hosts HOSTS_UNPACK has stored in the step
}

// Keys of the table "cluster" of the broker. The head writes them, nodes read them.
const (
	PlacementKey = "placement" // Ownership
	MembersKey   = "members"   // Ownership of a head with placement = propagate, whose nodes own no hosts
	BaseKey      = "base"      // the placement at the first entry of the journal
	GoneKey      = "gone"      // Gone
)

// Ownership says who owns which host, as the head sees it. Once there is data (Sealed), the
// placement of a node changes at places of the journal only, and may be one step ahead.
type Ownership struct {
	placement.Placement
	Sealed bool `json:"sealed"` // there are changes in the journal
}

// Gone has the names of nodes that leave or have left. None of them can come back.
type Gone struct {
	Lost    []string `json:"lost"`    // no node waits for their hosts
	Leaving []string `json:"leaving"` // their hosts move to others
	Removed []string `json:"removed"` // their hosts have moved
}

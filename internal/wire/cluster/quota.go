package cluster

import (
	"fmt"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/lenient"
)

// Our own operations for the limits of a site in a cluster (docs/decisions/0019-quota.md): each node
// has a lease of them, and the head keeps the ledger of all leases. A node's agent sends the operations
// to its db-task; clients cannot call them.
//
//	QUOTA_READ  {"wanted":true,"max":50}  -> {"reports":[{"site":"s","seq":3,"lease":[40,0,0],"used":[40,0,0],"short":[true,false,false],...}]}
//	QUOTA_SET   {"orders":[{"site":"s","seq":4,"lease":[55,0,0],"limit":[100,0,0]}]} -> {"reports":[...],"added":15}
//
// Both may be repeated: an order with a number that the site has had changes nothing.

// Kinds of limits: places in Amounts and Kinds.
const (
	QuotaURLs = iota
	QuotaResources
	QuotaErrors
	QuotaKinds // their number
)

// Amounts are numbers of URLs, resources and errors.
type Amounts [QuotaKinds]int64

// Kinds are a fact about each kind.
type Kinds [QuotaKinds]bool

// QuotaReturn as an amount of an order reduces the lease to what is used.
const QuotaReturn = -1

// QuotaReport is what a node of a cluster says of one site.
type QuotaReport struct {
	Site   string  `json:"site"`
	Gone   bool    `json:"gone,omitempty"` // the node does not have the site; the amounts are 0
	Active bool    `json:"active"`         // State 1
	Seq    int64   `json:"seq"`            // number of the last order
	Limit  Amounts `json:"limit"`          // of the client; 0: none
	Lease  Amounts `json:"lease"`          // what the node may have
	Used   Amounts `json:"used"`           // what it has, and for resources what may become one
	Busy   Amounts `json:"busy"`           // the part of Used that is in a batch
	Wants  Kinds   `json:"wants"`          // the lease is used by more than half
	Short  Kinds   `json:"short"`          // something waits for a larger lease

	// The node's agent adds these.
	Step  int64 `json:"step"`  // of the placement before the store was read
	From  int64 `json:"from"`  // position in the journal before the store was read
	Until int64 `json:"until"` // and after it
}

// AnyShort reports whether something waits.
func (r QuotaReport) AnyShort() bool { return r.Short != Kinds{} }

// QuotaOrder sets the lease of one site on one node.
type QuotaOrder struct {
	Site  string  `json:"site"`
	Seq   int64   `json:"seq"`   // an order with an older number than the node's last one does nothing
	Lease Amounts `json:"lease"` // QuotaReturn: what is used, and not more
	Limit Amounts `json:"limit"` // the limits that Final and Suspend follow from; with others they do nothing
	// Final: the cluster has nothing more of the kind.
	Final Kinds `json:"final"`
	// Suspend are the bits of limits that the whole cluster exceeds: the site is suspended.
	Suspend errormask.Mask `json:"suspend,omitempty"`
}

// QuotaReadRequest is the object of QUOTA_READ. It selects one site, or those that want a larger
// lease, or all active ones with a lease.
type QuotaReadRequest struct {
	Site   string `json:"site,omitempty"`
	Wanted bool   `json:"wanted,omitempty"`
	After  string `json:"after,omitempty"` // only sites with a greater id
	Max    int64  `json:"max,omitempty"`   // most sites; 0: MostReports
}

// MostReports bounds the reports of one message.
const MostReports = 100

// Check refuses invalid ids and a maximum out of bounds.
func (r QuotaReadRequest) Check(object string) error {
	if err := wire.CheckSiteID(object, "site", r.Site); r.Site != "" && err != nil {
		return err
	}
	return checkRange(object, "max", r.Max, 0, MostReports)
}

// QuotaSetRequest is the object of QUOTA_SET.
type QuotaSetRequest struct {
	Orders []QuotaOrder `json:"orders"`
}

// Check refuses orders without a number, and amounts below QuotaReturn.
func (r QuotaSetRequest) Check(object string) error {
	for i, o := range r.Orders {
		name := fmt.Sprintf("%s.orders[%d]", object, i)
		if err := wire.CheckSiteID(name, "site", o.Site); err != nil {
			return err
		}
		for _, n := range append(o.Lease[:], o.Seq) {
			if n < QuotaReturn {
				return &lenient.FieldError{Object: name, Field: "lease", Value: fmt.Sprint(o.Lease), Reason: "has an amount below -1, or seq is below 0"}
			}
		}
	}
	return nil
}

// QuotaReports is the answer to QUOTA_READ and QUOTA_SET, and the question of a node to the head.
type QuotaReports struct {
	Reports []QuotaReport `json:"reports"`
	Added   int           `json:"added,omitempty"` // rows of links that had waited
}

// QuotaOrders is the answer of the head: one order for each report, in their order.
type QuotaOrders struct {
	Orders []QuotaOrder `json:"orders"`
}

// QuotaCommand is a question of the head to a node about one site, with or without an order. The
// answer is a QuotaReport.
type QuotaCommand struct {
	Site  string      `json:"site"`
	Order *QuotaOrder `json:"order,omitempty"`
}

package wire

import (
	"encoding/json"
	"fmt"
	"strconv"

	"hce/dc/internal/wire/lenient"
)

// Op is the code of an operation (docs/spec/objects.md 1). Its answer has the code
// plus ResponseOffset.
type Op int

// Operations of clients. The codes 13 and 14 are reserved and not used.
const (
	SiteNew         Op = 1
	SiteUpdate      Op = 2
	SiteStatus      Op = 3
	SiteDelete      Op = 4
	SiteCleanup     Op = 5
	URLNew          Op = 6
	URLUpdate       Op = 7
	URLStatus       Op = 8
	URLDelete       Op = 9
	URLFetch        Op = 10
	URLCleanup      Op = 11
	URLContent      Op = 12
	SiteFind        Op = 15
	SQLCustom       Op = 16
	BatchRun        Op = 17
	URLPurge        Op = 18
	FieldRecalc     Op = 19
	URLVerify       Op = 20
	URLAge          Op = 21
	URLPut          Op = 22
	URLHistory      Op = 23
	URLStats        Op = 24
	ProxyNew        Op = 25
	ProxyUpdate     Op = 26
	ProxyDelete     Op = 27
	ProxyStatus     Op = 28
	ProxyFind       Op = 29
	AttributeSet    Op = 30
	AttributeUpdate Op = 31
	AttributeDelete Op = 32
	AttributeFetch  Op = 33
)

// URLReturn and all greater codes are our own operations between managers, agents and db-task; clients
// cannot call them. URLReturn makes the rows that a batch left in flight selectable again
// (docs/spec/DECISIONS.md 3.4, 3.5).
const URLReturn Op = 60

// Operations of a node's agent for its db-task: links of other nodes, moves of hosts and limits of sites
// (package cluster).
const (
	LinksTake   Op = 63
	LinksSent   Op = 64
	LinksStore  Op = 65
	HostsPack   Op = 66
	HostsUnpack Op = 67
	HostsDrop   Op = 68
	HostsAdopt  Op = 69
	QuotaRead   Op = 70
	QuotaSet    Op = 71
	HostsState  Op = 72
)

// ResponseOffset is the difference between the code of an answer and of its request.
const ResponseOffset = 100

var opNames = map[Op]string{
	SiteNew: "SITE_NEW", SiteUpdate: "SITE_UPDATE", SiteStatus: "SITE_STATUS",
	SiteDelete: "SITE_DELETE", SiteCleanup: "SITE_CLEANUP", SiteFind: "SITE_FIND",
	URLNew: "URL_NEW", URLUpdate: "URL_UPDATE", URLStatus: "URL_STATUS",
	URLDelete: "URL_DELETE", URLFetch: "URL_FETCH", URLCleanup: "URL_CLEANUP",
	URLContent: "URL_CONTENT", SQLCustom: "SQL_CUSTOM", BatchRun: "BATCH",
	URLPurge: "URL_PURGE", FieldRecalc: "F_RECALC", URLVerify: "URL_VERIFY",
	URLAge: "URL_AGE", URLPut: "URL_PUT", URLHistory: "URL_HISTORY",
	URLStats: "URL_STATS", ProxyNew: "PROXY_NEW", ProxyUpdate: "PROXY_UPDATE",
	ProxyDelete: "PROXY_DELETE", ProxyStatus: "PROXY_STATUS", ProxyFind: "PROXY_FIND",
	AttributeSet: "ATTRIBUTE_SET", AttributeUpdate: "ATTRIBUTE_UPDATE",
	AttributeDelete: "ATTRIBUTE_DELETE", AttributeFetch: "ATTRIBUTE_FETCH",
	URLReturn: "URL_RETURN", SiteRecrawl: "SITE_RECRAWL", SiteTotals: "SITE_TOTALS",
	LinksTake: "LINKS_TAKE", LinksSent: "LINKS_SENT", LinksStore: "LINKS_STORE",
	HostsPack: "HOSTS_PACK", HostsUnpack: "HOSTS_UNPACK", HostsDrop: "HOSTS_DROP", HostsAdopt: "HOSTS_ADOPT",
	HostsState: "HOSTS_STATE",
	QuotaRead:  "QUOTA_READ", QuotaSet: "QUOTA_SET",
}

var opsByName = func() map[string]Op {
	m := map[string]Op{
		"ATTR_SET": AttributeSet, "ATTR_UPDATE": AttributeUpdate,
		"ATTR_DELETE": AttributeDelete, "ATTR_FETCH": AttributeFetch,
		"FIELD_RECALCULATE": FieldRecalc,
	}
	for op, name := range opNames {
		m[name] = op
	}
	return m
}()

// String returns the command name, such as SITE_NEW, or the number of an unknown code.
func (o Op) String() string {
	if n, ok := opNames[o]; ok {
		return n
	}
	return strconv.Itoa(int(o))
}

// Known reports whether o is an operation of this package.
func (o Op) Known() bool { _, ok := opNames[o]; return ok }

// Client reports whether clients may call o.
func (o Op) Client() bool {
	return o.Known() && o < URLReturn
}

// Reads reports whether o never changes data.
func (o Op) Reads() bool {
	switch o {
	case SiteStatus, SiteFind, SiteTotals, QuotaRead, HostsState, URLStatus, URLContent, URLHistory, URLStats, ProxyStatus, ProxyFind, AttributeFetch:
		return true
	}
	return false
}

// Journaled reports whether nodes of a cluster that are away run o of a client later. Operations whose
// only use is the answer, which no client gets then, are not.
func (o Op) Journaled() bool {
	switch o {
	case URLFetch, URLVerify, SQLCustom:
		return false
	}
	return o.Client() && !o.Reads()
}

// Contents reports whether a request of o can carry contents or many new objects, and so be
// large.
func (o Op) Contents() bool {
	switch o {
	case SiteNew, URLNew, URLPut, URLUpdate, BatchRun:
		return true
	}
	return false
}

// ParseOp finds an operation by its case-sensitive command name. It accepts both
// spellings of the attribute and recalculation operations (docs/spec/DECISIONS.md 1.2).
func ParseOp(name string) (Op, bool) {
	o, ok := opsByName[name]
	return o, ok
}

// ListRequest reports whether the request of o must be a list of objects. SITE_DELETE
// and SITE_CLEANUP accept one object or a list: for them it returns false.
func (o Op) ListRequest() bool {
	switch o {
	case SiteNew, SiteUpdate, SiteStatus, SiteDelete, SiteCleanup, SiteFind, SQLCustom, BatchRun:
		return false
	}
	return o < URLReturn
}

// Call is one request on the stdin of db-task: the pair [operation, object].
type Call struct {
	Op     Op
	ByName bool   // the operation was given by Name; so is that of the answer
	Name   string // as the request spells it
	Object json.RawMessage
}

// UnmarshalJSON reads the pair. The operation is a code or a name. Errors are *FieldError.
func (c *Call) UnmarshalJSON(b []byte) error {
	var pair []json.RawMessage
	if err := json.Unmarshal(b, &pair); err != nil {
		return &lenient.FieldError{Object: "request", Value: lenient.ClipText(b), Reason: "is not a pair [operation, object]"}
	}
	if len(pair) != 2 {
		return &lenient.FieldError{Object: "request", Value: lenient.ClipText(b), Reason: fmt.Sprintf("has %d elements, a pair [operation, object] is expected", len(pair))}
	}
	c.Object = pair[1]
	var known bool
	if json.Unmarshal(pair[0], &c.Name) == nil {
		c.ByName = true
		c.Op, known = ParseOp(c.Name)
	} else {
		known = json.Unmarshal(pair[0], (*int)(&c.Op)) == nil && c.Op.Known()
	}
	if !known {
		return &lenient.FieldError{Object: "request", Field: "operation", Value: lenient.ClipText(pair[0]), Reason: "is not a known operation"}
	}
	return nil
}

// MarshalJSON writes the pair with the code of the operation, or with its name if
// ByName is set.
func (c Call) MarshalJSON() ([]byte, error) {
	if c.ByName {
		name := c.Name
		if name == "" {
			name = c.Op.String()
		}
		return json.Marshal([]any{name, c.Object})
	}
	return json.Marshal([]any{int(c.Op), c.Object})
}

// Reply is the answer to c: [operation+100, object], or [name, object] if the request
// gave a name (docs/spec/DECISIONS.md 1.2).
func (c Call) Reply(object any) []any {
	if c.ByName {
		return []any{c.Name, object}
	}
	return []any{int(c.Op) + ResponseOffset, object}
}

package limits

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// In a cluster the limits of a site hold for all nodes together (docs/decisions/0019-quota.md). The row
// of the site has the lease of this node: how many URLs, resources and errors it may have. The head
// changes it with orders, in the sequence of their numbers; only a node itself makes it smaller
// otherwise.
//
//	a new link without room        waits in links_held, up to what the limit could still allow; with a
//	                               final lease it is dropped as on one machine
//	no resources left in the lease no batch selects the site; suspended by an order when that is final
//	more errors than the lease     the same
//
// What a kill leaves: each change is one transaction. A site whose links QUOTA_SET moves in several
// stays wanted until the last one.

// FinalTime is how long a node believes that the cluster has nothing more. A limit that has room again
// because another node deleted URLs is noticed then. A change of the limit ends it at once.
const FinalTime = 10 * time.Minute

func finalBit(kind int) int64 { return 1 << kind }

// mayHave is the limit of URLs of this node.
func (c Capacity) mayHave() int64 {
	if c.leased {
		return min(c.MaxURLs, c.leaseURLs)
	}
	return c.MaxURLs
}

// MayGrow reports whether the lease of URLs may become larger.
func (c Capacity) MayGrow() bool {
	return c.leased && c.MaxURLs > c.leaseURLs && (c.final&finalBit(cluster.QuotaURLs) == 0 || c.now >= c.until)
}

// roomWithoutLease is left without the lease.
func (c Capacity) roomWithoutLease() int {
	c.leased = false
	return c.RoomLeft()
}

// WantLease lets the agent ask for a larger lease of a site with limits.
func (t *Tx) WantLease(site string) error {
	if !t.Place.Active() {
		return nil
	}
	_, err := t.Do("lease_want", site)
	return err
}

// ShrinkLease reduces the lease of a site to what is used.
func (t *Tx) ShrinkLease(site string) error {
	if !t.Place.Active() {
		return nil
	}
	_, err := t.Do("lease_shrink", site)
	return err
}

// leaseColumns are the columns of a site whose change by a client begins new leases.
var leaseColumns = []string{"State", "MaxURLs", "MaxResources", "MaxErrors"}

// ChangeLease follows a change of columns of a site.
func (t *Tx) ChangeLease(site string, set schema.Patch) error {
	for _, name := range leaseColumns {
		if set[name] != nil {
			return t.ShrinkLease(site)
		}
	}
	return nil
}

// TouchSite is site_touch, and on a node of a cluster asks for a larger lease if need be.
func (t *Tx) TouchSite(site string, mask errormask.Mask) error {
	name := "site_touch"
	if t.Place.Active() {
		name = "site_touch_leased"
	}
	_, err := t.Do(name, t.Now, int64(mask), int64(mask), site)
	return err
}

// WantsWork asks for a lease when a site gets new rows. It reads the counters before or after the change,
// as the database likes: both say enough.
const WantsWork = `LeaseWanted = CASE
  WHEN MaxURLs > LeaseURLs AND 2 * OwnURLs > LeaseURLs AND (LeaseFinal & 1) = 0 THEN 1
  WHEN MaxResources > 0 AND Resources + InFlight + InProcess >= LeaseResources AND (LeaseFinal & 2) = 0 THEN 1
  WHEN MaxErrors > 0 AND Errors > LeaseErrors AND (LeaseFinal & 4) = 0 THEN 1
  ELSE LeaseWanted END, `

// SelectFittingRows returns the new rows that a site has room for, in their order. The others wait, or are dropped.
func (t *Tx) SelectFittingRows(site string, c Capacity, fresh []*wire.URL) (kept []*wire.URL, dropped int, err error) {
	n := min(len(fresh), c.RoomLeft())
	if !c.MayGrow() {
		return fresh[:n], len(fresh) - n, nil
	}
	dropped, err = t.HoldLinks(site, c, fresh[n:])
	return fresh[:n], dropped, err
}

// HoldLinks lets links wait for a larger lease. It drops those that the limit of the client has no room
// for. Keys may repeat.
func (t *Tx) HoldLinks(site string, c Capacity, links []*wire.URL) (dropped int, err error) {
	if len(links) == 0 {
		return 0, nil
	}
	n := 0
	held, err := t.KeysFromQuery(tables.MapSlice(links, tables.URLKey), "SELECT URLMd5 FROM "+t.DB.Table(sqldb.Sites, "links_held")+tables.OfKeys, site)
	if err == nil {
		_, err = t.Get("links_held_count", []any{site}, &n)
	}
	if err != nil {
		return 0, err
	}
	room := c.roomWithoutLease() - c.RoomLeft() - n
	var rows [][]any
	for _, u := range links {
		switch {
		case held[u.URLMd5]:
			continue
		case len(rows) >= room:
			dropped++
			continue
		}
		held[u.URLMd5] = true
		text, err := json.Marshal(t.heldLink(site, *u))
		if err != nil {
			return 0, fmt.Errorf("hold link %s: %w", u.URLMd5, err)
		}
		rows = append(rows, []any{site, u.URLMd5, string(text)})
	}
	if len(rows) > 0 {
		err = t.InsertRows("INSERT INTO "+t.DB.Table(sqldb.Sites, "links_held")+" (Site_Id, URLMd5, Link)", rows)
	}
	if err != nil {
		return 0, err
	}
	return dropped, t.WantLease(site)
}

// heldLink is a link that will be requested. The entry of a feed, which has its contents with it, becomes
// such a link.
func (t *Tx) heldLink(site string, u wire.URL) cluster.LinkOut {
	if u.Status != wire.StatusNew {
		u.Type, u.Status, u.Crawled, u.HTTPCode, u.Size = wire.TypeSingle, wire.StatusNew, 0, 0, 0
		u.ContentType, u.ContentMask, u.RawContentMd5 = "", 0, ""
	}
	u.SiteID, u.BatchID = site, 0
	u.CDate = cmp.Or(u.CDate, schema.Date(t.Now))
	return cluster.LinkOut(u)
}

// RoomOf returns how many rows of a site may be selected; below 0: any number.
func RoomOf(limit, lease, used int64) int64 {
	if limit <= 0 {
		return -1
	}
	return max(min(limit, lease)-used, 0)
}

// QuotaRead reports leases of sites; see cluster.QuotaReadRequest. A named site that is unknown is Gone.
func (s *Store) QuotaRead(ctx context.Context, r cluster.QuotaReadRequest) (cluster.QuotaReports, error) {
	return tables.RunForResult(ctx, s.run.Read, "QuotaRead", func(t *Tx) (cluster.QuotaReports, error) {
		answer := cluster.QuotaReports{Reports: []cluster.QuotaReport{}}
		ids := []string{r.Site}
		if r.Site == "" {
			name := "leases_active"
			if r.Wanted {
				name = "leases_wanted"
			}
			var err error
			if ids, err = tables.NamedColumn[string](t.tableTx, name, r.After, cmp.Or(r.Max, cluster.MostReports)); err != nil {
				return answer, err
			}
		}
		for _, id := range ids {
			l, err := t.ReadLease(id)
			if err != nil {
				return answer, err
			}
			answer.Reports = append(answer.Reports, l.QuotaReport)
		}
		return answer, nil
	})
}

// SiteLease is the lease of one site as it is stored.
type SiteLease struct {
	cluster.QuotaReport
	final, until int64
	held         bool // links wait
}

// ReadLease reads the lease of a site. That of an unknown site is Gone.
func (t *Tx) ReadLease(site string) (l SiteLease, err error) {
	l.Site = site
	var state, fresh, resources, busy int64
	r := &l.QuotaReport
	known, err := t.Get("lease", []any{site}, &state, &fresh, &r.Limit[cluster.QuotaURLs], &r.Limit[cluster.QuotaResources], &r.Limit[cluster.QuotaErrors],
		&r.Used[cluster.QuotaURLs], &resources, &busy, &r.Used[cluster.QuotaErrors],
		&r.Seq, &r.Lease[cluster.QuotaURLs], &r.Lease[cluster.QuotaResources], &r.Lease[cluster.QuotaErrors], &l.final, &l.until)
	if err != nil || !known {
		r.Gone = !known
		return l, err
	}
	r.Active = state == wire.SiteActive
	r.Used[cluster.QuotaResources], r.Busy[cluster.QuotaResources] = resources+busy, busy
	if l.held, err = t.Get("links_held_any", []any{site}, new(int)); err != nil {
		return l, err
	}
	work := r.Active && fresh > 0
	for k, limit := range r.Limit {
		r.Wants[k] = limit > r.Lease[k] && 2*r.Used[k] > r.Lease[k]
	}
	r.Short = cluster.Kinds{
		cluster.QuotaURLs:      l.held,
		cluster.QuotaResources: work && RoomOf(r.Limit[cluster.QuotaResources], r.Lease[cluster.QuotaResources], r.Used[cluster.QuotaResources]) == 0,
		cluster.QuotaErrors:    work && r.Limit[cluster.QuotaErrors] > 0 && r.Used[cluster.QuotaErrors] > min(r.Limit[cluster.QuotaErrors], r.Lease[cluster.QuotaErrors]),
	}
	return l, nil
}

// ApplyOrder stores an order that is not older than the last one.
func (t *Tx) ApplyOrder(site string, o cluster.QuotaOrder) error {
	l, err := t.ReadLease(site)
	if err != nil || o.Seq < l.Seq {
		return err
	}
	lease, final := l.Lease, l.final
	if o.Seq > l.Seq {
		final = 0
	}
	for k := range lease {
		switch {
		case o.Seq == l.Seq: // a repetition
		case o.Lease[k] == cluster.QuotaReturn:
			lease[k] = min(l.Lease[k], l.Used[k])
		case o.Limit[k] != l.Limit[k]: // the client has changed the limit since
			lease[k] = min(l.Lease[k], o.Lease[k])
		default:
			lease[k] = o.Lease[k]
		}
		if o.Seq > l.Seq && o.Final[k] && o.Limit == l.Limit {
			final |= finalBit(k)
		}
	}
	if o.Seq > l.Seq {
		_, err = t.Do("lease_set", o.Seq, lease[cluster.QuotaURLs], lease[cluster.QuotaResources], lease[cluster.QuotaErrors], final, t.Time.Add(FinalTime).Unix(), site)
	}
	if err == nil && o.Seq > l.Seq && o.Suspend != 0 && l.Active && o.Limit == l.Limit {
		_, err = t.Do("site_suspend", t.Now, int64(o.Suspend), int64(o.Suspend), 0, site)
	}
	return err
}

package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
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

// finalTime is how long a node believes that the cluster has nothing more. A limit that has room again
// because another node deleted URLs is noticed then. A change of the limit ends it at once.
const finalTime = 10 * time.Minute

// heldPage bounds the links that one transaction takes out of links_held.
const heldPage = 1000

func finalBit(kind int) int64 { return 1 << kind }

// mayHave is the limit of URLs of this node.
func (c capacity) mayHave() int64 {
	if c.leased {
		return min(c.maxURLs, c.leaseURLs)
	}
	return c.maxURLs
}

// mayGrow reports whether the lease of URLs may become larger.
func (c capacity) mayGrow() bool {
	return c.leased && c.maxURLs > c.leaseURLs && (c.final&finalBit(wire.QuotaURLs) == 0 || c.now >= c.until)
}

// roomWithoutLease is left without the lease.
func (c capacity) roomWithoutLease() int {
	c.leased = false
	return c.roomLeft()
}

// wantLease lets the agent ask for a larger lease of a site with limits.
func (t *tx) wantLease(site string) error {
	if !t.place.Active() {
		return nil
	}
	_, err := t.Do("lease_want", site)
	return err
}

// shrinkLease reduces the lease of a site to what is used.
func (t *tx) shrinkLease(site string) error {
	if !t.place.Active() {
		return nil
	}
	_, err := t.Do("lease_shrink", site)
	return err
}

// leaseColumns are the columns of a site whose change by a client begins new leases.
var leaseColumns = []string{"State", "MaxURLs", "MaxResources", "MaxErrors"}

// changeLease follows a change of columns of a site.
func (t *tx) changeLease(site string, set wire.Patch) error {
	for _, name := range leaseColumns {
		if set[name] != nil {
			return t.shrinkLease(site)
		}
	}
	return nil
}

// touchSite is site_touch, and on a node of a cluster asks for a larger lease if need be.
func (t *tx) touchSite(site string, mask wire.ErrorMask) error {
	name := "site_touch"
	if t.place.Active() {
		name = "site_touch_leased"
	}
	_, err := t.Do(name, t.now, int64(mask), int64(mask), site)
	return err
}

// wantsWork asks for a lease when a site gets new rows. It reads the counters before or after the change,
// as the database likes: both say enough.
const wantsWork = `LeaseWanted = CASE
  WHEN MaxURLs > LeaseURLs AND 2 * OwnURLs > LeaseURLs AND (LeaseFinal & 1) = 0 THEN 1
  WHEN MaxResources > 0 AND Resources + InFlight + InProcess >= LeaseResources AND (LeaseFinal & 2) = 0 THEN 1
  WHEN MaxErrors > 0 AND Errors > LeaseErrors AND (LeaseFinal & 4) = 0 THEN 1
  ELSE LeaseWanted END, `

// selectFittingRows returns the new rows that a site has room for, in their order. The others wait, or are dropped.
func (t *tx) selectFittingRows(site string, c capacity, fresh []*wire.URL) (kept []*wire.URL, dropped int, err error) {
	n := min(len(fresh), c.roomLeft())
	if !c.mayGrow() {
		return fresh[:n], len(fresh) - n, nil
	}
	dropped, err = t.holdLinks(site, c, fresh[n:])
	return fresh[:n], dropped, err
}

// holdLinks lets links wait for a larger lease. It drops those that the limit of the client has no room
// for. Keys may repeat.
func (t *tx) holdLinks(site string, c capacity, links []*wire.URL) (dropped int, err error) {
	if len(links) == 0 {
		return 0, nil
	}
	n := 0
	held, err := t.keysFromQuery(mapSlice(links, urlKey), "SELECT URLMd5 FROM "+t.DB.Table(sqldb.Sites, "links_held")+ofKeys, site)
	if err == nil {
		_, err = t.Get("links_held_count", []any{site}, &n)
	}
	if err != nil {
		return 0, err
	}
	room := c.roomWithoutLease() - c.roomLeft() - n
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
		err = t.insertRows("INSERT INTO "+t.DB.Table(sqldb.Sites, "links_held")+" (Site_Id, URLMd5, Link)", rows)
	}
	if err != nil {
		return 0, err
	}
	return dropped, t.wantLease(site)
}

// heldLink is a link that will be requested. The entry of a feed, which has its contents with it, becomes
// such a link.
func (t *tx) heldLink(site string, u wire.URL) wire.LinkOut {
	if u.Status != wire.StatusNew {
		u.Type, u.Status, u.Crawled, u.HTTPCode, u.Size = wire.TypeSingle, wire.StatusNew, 0, 0, 0
		u.ContentType, u.ContentMask, u.RawContentMd5 = "", 0, ""
	}
	u.SiteID, u.BatchID = site, 0
	u.CDate = cmp.Or(u.CDate, wire.Date(t.now))
	return wire.LinkOut(u)
}

// leasedRoom is what a selection for a batch needs to keep the leases: a condition of sites, and the
// columns that roomOf gets. Without a cluster there is no condition, and the columns are numbers.
func (f *fetch) leasedRoom() (condition expr.SQL, columns string) {
	if !f.place.Active() || !f.r.SkipBusySites {
		return condition, "0, 0, 0"
	}
	least := func(max, lease string) string {
		return "(CASE WHEN " + lease + " < " + max + " THEN " + lease + " ELSE " + max + " END)"
	}
	used := "Resources + InFlight + InProcess"
	condition.Text = "((MaxResources = 0 OR " + used + " < " + least("MaxResources", "LeaseResources") +
		") AND (MaxErrors = 0 OR Errors <= " + least("MaxErrors", "LeaseErrors") + "))"
	return condition, "MaxResources, LeaseResources, " + used
}

// roomOf returns how many rows of a site may be selected; below 0: any number.
func roomOf(limit, lease, used int64) int64 {
	if limit <= 0 {
		return -1
	}
	return max(min(limit, lease)-used, 0)
}

// QuotaRead reports leases of sites; see wire.QuotaReadRequest. A named site that is unknown is Gone.
func (s *Store) QuotaRead(ctx context.Context, r wire.QuotaReadRequest) (wire.QuotaReports, error) {
	return runForResult(ctx, s.runReadTx, "QuotaRead", func(t *tx) (wire.QuotaReports, error) {
		answer := wire.QuotaReports{Reports: []wire.QuotaReport{}}
		ids := []string{r.Site}
		if r.Site == "" {
			name := "leases_active"
			if r.Wanted {
				name = "leases_wanted"
			}
			var err error
			if ids, err = namedColumn[string](t, name, r.After, cmp.Or(r.Max, wire.MostReports)); err != nil {
				return answer, err
			}
		}
		for _, id := range ids {
			l, err := t.readLease(id)
			if err != nil {
				return answer, err
			}
			answer.Reports = append(answer.Reports, l.QuotaReport)
		}
		return answer, nil
	})
}

// siteLease is the lease of one site as it is stored.
type siteLease struct {
	wire.QuotaReport
	final, until int64
	held         bool // links wait
}

func (t *tx) readLease(site string) (l siteLease, err error) {
	l.Site = site
	var state, fresh, resources, busy int64
	r := &l.QuotaReport
	known, err := t.Get("lease", []any{site}, &state, &fresh, &r.Limit[wire.QuotaURLs], &r.Limit[wire.QuotaResources], &r.Limit[wire.QuotaErrors],
		&r.Used[wire.QuotaURLs], &resources, &busy, &r.Used[wire.QuotaErrors],
		&r.Seq, &r.Lease[wire.QuotaURLs], &r.Lease[wire.QuotaResources], &r.Lease[wire.QuotaErrors], &l.final, &l.until)
	if err != nil || !known {
		r.Gone = !known
		return l, err
	}
	r.Active = state == wire.SiteActive
	r.Used[wire.QuotaResources], r.Busy[wire.QuotaResources] = resources+busy, busy
	if l.held, err = t.Get("links_held_any", []any{site}, new(int)); err != nil {
		return l, err
	}
	work := r.Active && fresh > 0
	for k, limit := range r.Limit {
		r.Wants[k] = limit > r.Lease[k] && 2*r.Used[k] > r.Lease[k]
	}
	r.Short = wire.Kinds{
		wire.QuotaURLs:      l.held,
		wire.QuotaResources: work && roomOf(r.Limit[wire.QuotaResources], r.Lease[wire.QuotaResources], r.Used[wire.QuotaResources]) == 0,
		wire.QuotaErrors:    work && r.Limit[wire.QuotaErrors] > 0 && r.Used[wire.QuotaErrors] > min(r.Limit[wire.QuotaErrors], r.Lease[wire.QuotaErrors]),
	}
	return l, nil
}

// QuotaSet applies orders, each in transactions of its own, and gives links that wait their rows or
// drops them. An unknown site is Gone. The reports are those after it.
func (s *Store) QuotaSet(ctx context.Context, r wire.QuotaSetRequest) (wire.QuotaReports, error) {
	answer := wire.QuotaReports{Reports: []wire.QuotaReport{}}
	for _, o := range r.Orders {
		for more := true; more; {
			var report wire.QuotaReport
			var added int
			var err error
			if report, added, more, err = s.quotaSet(ctx, o); err != nil {
				return answer, err
			}
			answer.Added += added
			if !more {
				answer.Reports = append(answer.Reports, report)
			}
		}
	}
	return answer, nil
}

// quotaSet applies an order and moves a page of the links that wait. more says that others can follow.
func (s *Store) quotaSet(ctx context.Context, o wire.QuotaOrder) (report wire.QuotaReport, added int, more bool, err error) {
	now := s.db.options.Now()
	var k receiving
	err = s.runUpdateTx(ctx, "QuotaSet", func(t *tx) error {
		k = receiving{tx: t}
		site, err := t.storedID(o.Site)
		if err != nil {
			return err
		}
		if site == "" {
			report, more = wire.QuotaReport{Site: o.Site, Gone: true}, false
			return nil
		}
		if err := t.applyOrder(site, o); err != nil {
			return err
		}
		if more, err = k.releaseLinks(site); err != nil {
			return err
		}
		l, err := t.readLease(site)
		report = l.QuotaReport
		wanted := 0
		if more || report.AnyShort() {
			wanted = 1
		}
		if err == nil {
			_, err = t.Do("lease_wanted_set", wanted, site, wanted)
		}
		return err
	})
	if err != nil {
		return report, 0, false, err
	}
	for _, f := range k.done {
		f.rememberLinks(now)
	}
	return report, k.answer.New, more, nil
}

// applyOrder stores an order that is not older than the last one.
func (t *tx) applyOrder(site string, o wire.QuotaOrder) error {
	l, err := t.readLease(site)
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
		case o.Lease[k] == wire.QuotaReturn:
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
		_, err = t.Do("lease_set", o.Seq, lease[wire.QuotaURLs], lease[wire.QuotaResources], lease[wire.QuotaErrors], final, t.time.Add(finalTime).Unix(), site)
	}
	if err == nil && o.Seq > l.Seq && o.Suspend != 0 && l.Active && o.Limit == l.Limit {
		_, err = t.Do("site_suspend", t.now, int64(o.Suspend), int64(o.Suspend), 0, site)
	}
	return err
}

// releaseLinks stores links that wait, as far as there is room, and drops the rest if the lease is
// final. more says that others can follow.
func (k *receiving) releaseLinks(site string) (more bool, err error) {
	c, err := k.readCapacity(site)
	if err != nil {
		return false, err
	}
	most := heldPage
	if c.mayGrow() {
		most = min(most, c.roomLeft())
	}
	var ids []int64
	var links []*wire.URL
	err = k.All("links_held_page", []any{site, most + 1}, func(scan func(...any) error) error {
		var id int64
		var text string
		if err := scan(&id, &text); err != nil {
			return err
		}
		var l wire.LinkOut
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			return fmt.Errorf("read held link %d: %w", id, err)
		}
		ids, links = append(ids, id), append(links, (*wire.URL)(&l))
		return nil
	})
	if err != nil || most == 0 || len(ids) == 0 {
		return false, err
	}
	more = len(ids) > most
	ids, links = ids[:min(len(ids), most)], links[:min(len(ids), most)]
	if _, err := execIn(k.tx, ids, "DELETE FROM "+k.DB.Table(sqldb.Sites, "links_held")+" WHERE Id IN "); err != nil {
		return false, err
	}
	return more, k.storeSite(site, links)
}

package limits

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/zpack"
)

// Links to hosts of other nodes (package placement). A row of URLs is stored only by the node that
// owns its host:
//
//   - Roots of SITE_NEW and SITE_UPDATE and elements of URL_NEW reach all nodes. Each stores its own;
//     the others answer as if they had stored them. The lists of a site (sites_urls, filters,
//     properties) are on all nodes.
//   - Links of pages, of sitemaps, to other sites and of URL schemas that other nodes own are queued
//     here, in the transaction of their page: links_waiting has them in bundles, one for each owner,
//     links_out has their keys for ever. So a link is sent once; a known link adds nothing to the Freq of its row, and does not
//     reset it (RECRAWL_URL_*), when a further page names it.
//   - A link with contents of its own (the entry of a feed) stays with its page: no reader has to
//     request it. So do further items of a page that processing finds, and the URL of a batch.
//
// Deleting or cleaning a site removes its links here. A link that is on its way at that time arrives
// later: the owner drops it if the site is gone.
//
// What a kill leaves: before the commit nothing; after it the page and its links. LINKS_TAKE takes
// the same bundles again until LINKS_SENT removes them. LINKS_STORE writes the key of each bundle in
// the transaction of its rows.
//
// Links to other sites (TypeRegularExt, TypeNewSite) have no site here: the owner chooses it, as
// for URL_NEW, and makes it if need be. Such a site exists on the owner of its host only, because it
// has one host. Its links to hosts of other nodes are dropped there: those do not know it. Site "0"
// exists on every node and has the URLs of that node's hosts.

// OwnsURL reports whether this node owns the host of a URL.
func (t *Tx) OwnsURL(url string) bool { return t.Place.Mine(url) }

// IsForeign reports whether another node must store a link.
func (t *Tx) IsForeign(l *wire.Link) bool {
	return t.Place.Active() && len(l.Files) == 0 && !t.OwnsURL(l.URL.URL)
}

// OwnOnly returns the URLs that this node owns. It changes list.
func (t *Tx) OwnOnly(list []*wire.URL) []*wire.URL {
	if !t.Place.Active() {
		return list
	}
	return slices.DeleteFunc(list, func(u *wire.URL) bool { return !t.OwnsURL(u.URL) })
}

// QueueLinks queues the links of other nodes that were never queued. Keys may repeat. site is "" for
// links whose site the owner chooses.
func (t *Tx) QueueLinks(site string, links []*wire.URL) error {
	if len(links) == 0 {
		return nil
	}
	met, err := t.queuedKeys(site, tables.MapSlice(links, tables.URLKey))
	if err != nil {
		return err
	}
	var keys [][]any
	var fresh []cluster.LinkOut
	for _, u := range links {
		if met[u.URLMd5] {
			continue
		}
		met[u.URLMd5] = true
		row := cluster.LinkOut(*u)
		row.SiteID, row.BatchID = site, 0
		row.CDate = cmp.Or(row.CDate, schema.Date(t.Now))
		keys, fresh = append(keys, []any{site, u.URLMd5}), append(fresh, row)
	}
	if len(keys) == 0 {
		return nil
	}
	if err := t.InsertRows("INSERT INTO "+t.DB.Table(sqldb.Sites, "links_out")+" (Site_Id, URLMd5)", keys); err != nil {
		return err
	}
	return t.bundleLinks(site, fresh)
}

// queuedKeys returns those keys whose links wait or were sent.
func (t *Tx) queuedKeys(site string, md5s []string) (map[string]bool, error) {
	return t.KeysFromQuery(md5s, "SELECT URLMd5 FROM "+t.DB.Table(sqldb.Sites, "links_out")+tables.OfKeys, site)
}

// bundleLinks stores links, in bundles of one owner and at most MaxBundle bytes, or of one link.
func (t *Tx) bundleLinks(site string, links []cluster.LinkOut) error {
	open := map[string]*cluster.LinkText{}
	var rows [][]any
	keep := func(owner string) {
		rows = append(rows, []any{site, owner, open[owner].N, open[owner].JSON()})
		delete(open, owner)
	}
	for i := range links {
		owner := t.Place.OwnerOfURL(links[i].URL)
		for added := false; !added; {
			if open[owner] == nil {
				open[owner] = &cluster.LinkText{}
			}
			var err error
			if added, err = open[owner].Add(&links[i], MaxBundle); err != nil {
				return err
			}
			if !added {
				keep(owner)
			}
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(open)) {
		keep(owner)
	}
	return t.InsertRows("INSERT INTO "+t.DB.Table(sqldb.Sites, "links_waiting")+" (Site_Id, Owner, N, Links)", rows)
}

// waitingBundle is a row of links_waiting.
type waitingBundle struct {
	id, n             int64
	site, owner, text string
}

func (w *waitingBundle) scanTargets() []any { return []any{&w.id, &w.site, &w.owner, &w.n, &w.text} }

func (w *waitingBundle) decodeLinks() (list cluster.LinkList, err error) {
	if err = json.Unmarshal([]byte(w.text), &list); err != nil {
		err = fmt.Errorf("read waiting bundle %d: %w", w.id, err)
	}
	return list, err
}

const (
	MaxBundle    = 64 << 10 // bytes
	defaultTake  = 200      // bundles
	defaultGroup = 256 << 10
)

// LinksTake returns the oldest bundles that wait for other nodes, in groups of one owner. Without
// links it writes nothing. It packs the messages after its transaction.
func (s *Store) LinksTake(ctx context.Context, r cluster.LinksTakeRequest) (cluster.LinksTaken, error) {
	waits, err := tables.RunForResult(ctx, s.run.Read, "LinksTake", func(t *Tx) (bool, error) { return t.Get("links_any", nil, new(int)) })
	if err != nil || !waits {
		return cluster.LinksTaken{Owners: []cluster.LinkGroup{}}, err
	}
	taken, err := tables.RunForResult(ctx, s.run.Update, "LinksTake", func(t *Tx) (taken cluster.LinksTaken, err error) {
		for len(taken.Owners) == 0 { // until no bundle got another owner
			rows, err := t.bundlesAfter(0, cmp.Or(r.Max, defaultTake))
			if err == nil {
				taken.Owners, err = t.groupBundles(rows, int(cmp.Or(r.MaxBytes, defaultGroup)))
			}
			if err != nil || len(rows) == 0 {
				return taken, err
			}
			if _, err = t.Get("links_count_after", []any{rows[len(rows)-1].id}, &taken.Left); err != nil {
				return taken, err
			}
		}
		return taken, nil
	})
	for i := range taken.Owners {
		taken.Owners[i].Message = zpack.Pack(taken.Owners[i].Message)
	}
	return taken, err
}

func (t *Tx) bundlesAfter(id, limit int64) (rows []waitingBundle, err error) {
	err = t.All("links_bundles", []any{id, limit}, tables.AppendTo(&rows, (*waitingBundle).scanTargets))
	return rows, err
}

// groupBundles joins bundles of one owner to messages of at most size bytes, or of one bundle, which are not packed
// yet. Bundles of a node that has left go to the new owners of their hosts.
func (t *Tx) groupBundles(rows []waitingBundle, size int) ([]cluster.LinkGroup, error) {
	groups := []cluster.LinkGroup{}
	open := map[string]int{} // place of the group of an owner
	for _, w := range rows {
		if !slices.Contains(t.Place.Members, w.owner) && !slices.Contains(t.Place.Previous, w.owner) {
			if err := t.requeueBundle(w); err != nil {
				return nil, err
			}
			continue
		}
		at, ok := open[w.owner]
		if !ok || len(groups[at].Message)+len(w.text) > size {
			at = len(groups)
			open[w.owner] = at
			groups = append(groups, cluster.LinkGroup{Owner: w.owner})
		}
		g := &groups[at]
		begin := ","
		if len(g.IDs) == 0 {
			begin = `{"bundles":[`
		}
		g.IDs, g.Count = append(g.IDs, w.id), g.Count+w.n
		g.Message = fmt.Appendf(g.Message, `%s{"id":%d,"from":%q,"links":%s}`, begin, w.id, t.Place.Self, w.text)
	}
	for i := range groups {
		groups[i].Message = append(groups[i].Message, "]}"...)
	}
	return groups, nil
}

// requeueBundle queues the links of a bundle for their owners of now. LINKS_TAKE takes them the next time.
func (t *Tx) requeueBundle(w waitingBundle) error {
	links, err := w.decodeLinks()
	if err == nil {
		err = t.bundleLinks(w.site, links)
	}
	if err == nil {
		_, err = t.removeBundles([]int64{w.id})
	}
	return err
}

func (t *Tx) removeBundles(ids []int64) (int64, error) {
	return tables.ExecIn(t.tableTx, ids, "DELETE FROM "+t.DB.Table(sqldb.Sites, "links_waiting")+" WHERE Id IN ")
}

// LinksSent removes bundles of LinksTake that are stored elsewhere. It returns their number.
func (s *Store) LinksSent(ctx context.Context, r cluster.LinksSentRequest) (removed int64, err error) {
	return tables.RunForResult(ctx, s.run.Update, "LinksSent", func(t *Tx) (int64, error) { return t.removeBundles(r.IDs) })
}

// CheckLinks reports faults of the queue of links to other nodes.
func (s *Store) CheckLinks(ctx context.Context, report func(fault string)) error {
	return s.run.Read(ctx, "CheckLinks", func(t *Tx) error {
		for last := int64(0); ; {
			rows, err := t.bundlesAfter(last, defaultTake)
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				if last > 0 && s.db.Options.Placement == nil {
					report("links wait for other nodes, but the key placement of db-task.ini is empty: set it to the file that the node's agent writes")
				}
				return nil
			}
			for _, w := range rows {
				last = w.id
				if err := t.checkBundle(w, report); err != nil {
					return err
				}
			}
		}
	})
}

func (t *Tx) checkBundle(w waitingBundle, report func(fault string)) error {
	links, bad := w.decodeLinks()
	if bad != nil {
		report(fmt.Sprintf("bundle %d of links waits for node %s and cannot be read: delete its row of links_waiting", w.id, w.owner))
		return nil
	}
	known, err := t.queuedKeys(w.site, tables.MapSlice(links, func(l cluster.LinkOut) string { return l.URLMd5 }))
	if missing := len(links) - len(known); err == nil && missing > 0 {
		report(fmt.Sprintf("%d links of site %s in bundle %d wait for another node and have no key: they may be sent twice", missing, w.site, w.id))
	}
	return err
}

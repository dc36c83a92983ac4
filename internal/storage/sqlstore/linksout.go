package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// Links to hosts of other nodes (package placement). A row of URLs is stored only by the node that
// owns its host:
//
//   - Roots of SITE_NEW and SITE_UPDATE and elements of URL_NEW reach all nodes. Each stores its own;
//     the others answer as if they had stored them. The lists of a site (sites_urls, filters,
//     properties) are on all nodes.
//   - Links of pages, of sitemaps, to other sites and of URL schemas that other nodes own are queued
//     here, in the transaction of their page: links_waiting has the link, links_out has its key for
//     ever. So a link is sent once; a known link adds nothing to the Freq of its row, and does not
//     reset it (RECRAWL_URL_*), when a further page names it.
//   - A link with contents of its own (the entry of a feed) stays with its page: nobody has to
//     request it. So do further items of a page that processing finds, and the URL of a batch.
//
// Deleting or cleaning a site removes its links here. A link that is on its way at that time arrives
// later: the owner drops it if the site is gone.
//
// What a kill leaves: before the commit nothing; after it the page and its links. LINKS_TAKE gives
// links a group and writes that down, so it takes the same groups again until LINKS_SENT removes
// them. LINKS_STORE writes the key of the group in the transaction of the rows.
//
// Links to other sites (TypeRegularExt, TypeNewSite) have no site here: the owner chooses it, as
// for URL_NEW, and makes it if need be. Such a site exists on the owner of its host only, because it
// has one host. Its links to hosts of other nodes are dropped there: those do not know it. Site "0"
// exists on every node and has the URLs of that node's hosts.

// owned reports whether this node owns the host of a URL.
func (t *tx) owned(url string) bool { return t.place.Mine(url) }

// foreign reports whether another node must store a link.
func (t *tx) foreign(l *wire.Link) bool {
	return t.place.Active() && len(l.Files) == 0 && !t.owned(l.URL.URL)
}

// ownOnly returns the URLs that this node owns. It changes list.
func (t *tx) ownOnly(list []*wire.URL) []*wire.URL {
	if !t.place.Active() {
		return list
	}
	return slices.DeleteFunc(list, func(u *wire.URL) bool { return !t.owned(u.URL) })
}

// queueLinks queues the links of other nodes that were never queued. Keys may repeat. site is "" for
// links whose site the owner chooses.
func (t *tx) queueLinks(site string, links []*wire.URL) error {
	if len(links) == 0 {
		return nil
	}
	out := t.DB.Table(sqldb.Sites, "links_out")
	met := map[string]bool{}
	err := eachIn(t, mapped(links, urlKey), "SELECT URLMd5 FROM "+out+ofKeys, []any{site}, func(scan func(...any) error) error {
		var md5 string
		err := scan(&md5)
		met[md5] = true
		return err
	})
	if err != nil {
		return err
	}
	var keys, waiting [][]any
	for _, u := range links {
		if met[u.URLMd5] {
			continue
		}
		met[u.URLMd5] = true
		row := *u
		row.SiteID, row.BatchID = site, 0
		row.CDate = cmp.Or(row.CDate, wire.Date(t.now))
		text, err := json.Marshal(wire.LinkOut{URL: row})
		if err != nil {
			return fmt.Errorf("queue link %s: %w", u.URLMd5, err)
		}
		keys = append(keys, []any{site, u.URLMd5})
		waiting = append(waiting, []any{site, u.URLMd5, string(text)})
	}
	if len(keys) == 0 {
		return nil
	}
	if err := t.insertRows("INSERT INTO "+out+" (Site_Id, URLMd5)", keys); err != nil {
		return err
	}
	return t.insertRows("INSERT INTO "+t.DB.Table(sqldb.Sites, "links_waiting")+" (Site_Id, URLMd5, Link)", waiting)
}

// waitingLink is a row of links_waiting.
type waitingLink struct {
	id, group int64
	text      string
}

func (w *waitingLink) fields() []any { return []any{&w.id, &w.group, &w.text} }

const (
	defaultTake  = 1000
	defaultGroup = 256 << 10 // bytes
)

// LinksTake returns links that wait for other nodes, in groups of one owner. Groups that were taken
// before and not sent come first, and alone; otherwise the oldest links get groups. Without links it
// writes nothing.
func (s *Store) LinksTake(ctx context.Context, r wire.LinksTakeRequest) (wire.LinksTaken, error) {
	waits, err := result(ctx, s.view, "LinksTake", func(t *tx) (bool, error) { return t.Get("links_any", nil, new(int)) })
	if err != nil || !waits {
		return wire.LinksTaken{Owners: []wire.LinkGroup{}}, err
	}
	return result(ctx, s.update, "LinksTake", func(t *tx) (taken wire.LinksTaken, err error) {
		taken.Owners, err = t.takeLinks(r)
		if err == nil {
			_, err = t.Get("links_count_free", nil, &taken.Left)
		}
		return taken, err
	})
}

func (t *tx) takeLinks(r wire.LinksTakeRequest) ([]wire.LinkGroup, error) {
	groups := []wire.LinkGroup{}
	var rows []waitingLink
	if err := t.All("links_taken", nil, appendTo(&rows, (*waitingLink).fields)); err != nil {
		return nil, err
	}
	for _, same := range wire.Groups(rows, func(w waitingLink) string { return fmt.Sprint(w.group) }) {
		var g wire.LinkGroup
		for _, w := range same {
			l, err := w.link()
			if err != nil {
				return nil, err
			}
			t.join(&g, l)
		}
		groups = append(groups, g)
	}
	if len(groups) > 0 {
		return groups, nil
	}
	if err := t.All("links_free", []any{cmp.Or(r.Max, defaultTake)}, appendTo(&rows, (*waitingLink).fields)); err != nil {
		return nil, err
	}
	return t.newGroups(rows, int(cmp.Or(r.MaxBytes, defaultGroup)))
}

// join adds a link to a group. The first one gives it its owner.
func (t *tx) join(g *wire.LinkGroup, l wire.LinkOut) {
	if len(g.Links) == 0 {
		g.Owner = t.place.OwnerOfURL(l.URL.URL)
	}
	l.From = t.place.Self
	g.Links, g.IDs = append(g.Links, l), append(g.IDs, l.ID)
}

func (w waitingLink) link() (l wire.LinkOut, err error) {
	if err = json.Unmarshal([]byte(w.text), &l); err != nil {
		return l, fmt.Errorf("read waiting link %d: %w", w.id, err)
	}
	l.ID = w.id
	return l, nil
}

// newGroups divides links by their owners into groups of at most size bytes, or of one link.
func (t *tx) newGroups(rows []waitingLink, size int) ([]wire.LinkGroup, error) {
	groups := []wire.LinkGroup{}
	open := map[string]int{} // place of the group of an owner
	bytes := map[int]int{}
	for _, w := range rows {
		l, err := w.link()
		if err != nil {
			return nil, err
		}
		owner := t.place.OwnerOfURL(l.URL.URL)
		at, ok := open[owner]
		if !ok || bytes[at]+len(w.text) > size {
			at = len(groups)
			open[owner] = at
			groups = append(groups, wire.LinkGroup{})
		}
		t.join(&groups[at], l)
		bytes[at] += len(w.text)
	}
	for _, g := range groups {
		_, err := execIn(t, g.IDs, "UPDATE "+t.DB.Table(sqldb.Sites, "links_waiting")+" SET Group_Id = ? WHERE Id IN ", g.IDs[0])
		if err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// LinksSent removes links of LinksTake that are stored elsewhere. It returns their number.
func (s *Store) LinksSent(ctx context.Context, r wire.LinksSentRequest) (removed int64, err error) {
	return result(ctx, s.update, "LinksSent", func(t *tx) (int64, error) {
		return execIn(t, r.IDs, "DELETE FROM "+t.DB.Table(sqldb.Sites, "links_waiting")+" WHERE Id IN ")
	})
}

// CheckLinks reports faults of the queue of links to other nodes.
func (s *Store) CheckLinks(ctx context.Context, report func(fault string)) error {
	return s.view(ctx, "CheckLinks", func(t *tx) error {
		var faults []string
		err := t.All("links_without_key", nil, pair(func(id int64, site string) {
			faults = append(faults, fmt.Sprintf("link %d of site %s waits for another node and has no key: it may be sent twice", id, site))
		}))
		last := int64(0)
		for err == nil {
			var rows []waitingLink
			if err = t.All("links_page", []any{last, defaultTake}, appendTo(&rows, (*waitingLink).fields)); len(rows) == 0 {
				break
			}
			for _, w := range rows {
				if _, bad := w.link(); bad != nil {
					faults = append(faults, fmt.Sprintf("link %d waits for another node and cannot be read: delete its row of links_waiting", w.id))
				}
				last = w.id
			}
		}
		if err == nil && last > 0 && s.o.Placement == nil {
			faults = append(faults, "links wait for other nodes, but the key placement of db-task.ini is empty: set it to the file that the node's agent writes")
		}
		for _, fault := range faults {
			report(fault)
		}
		return err
	})
}

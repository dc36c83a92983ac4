package moves

import (
	"context"
	"fmt"
	"slices"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/counters"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
	"hce/dc/internal/wire/placement"
	"hce/dc/internal/wire/schema"
)

// Hosts move between the nodes of a cluster in steps (docs/decisions/0018-moving-hosts.md). This is
// the part of the rows; package storage has the files and the contents.
//
// What a kill leaves: HostsArrive is one transaction with its note. HostsDrop deletes pages of rows, and
// notes the step in a transaction after the last one: a further call deletes the rest.

// MovedSite is a site as another node makes it.
type MovedSite struct {
	Site       wire.Site
	Attributes []wire.Attribute // of the site itself
}

// MovedURL is a row with what belongs to it. Contents are not part of it.
type MovedURL struct {
	Row      wire.URL // with its attributes
	Attempts int64
	Freqs    []wire.FreqRow
	Log      []wire.LogRow
}

// LeavingURL is a row that goes to another node.
type LeavingURL struct{ MD5, To string }

// hostsPage bounds the rows that one query of the scan of a site reads, and those of one
// transaction of HostsDrop.
const hostsPage = 2000

// HostsLeaving looks at the next rows of a site, in the order of their keys, and returns those that the
// step moves. Last is the last key that it saw; "" at the end of the site.
func (s *Store) HostsLeaving(ctx context.Context, m cluster.HostsMove, site, after string) (list []LeavingURL, last string, err error) {
	err = s.run.Read(ctx, "HostsLeaving", func(t *tx) (err error) {
		list, last, err = t.leavingURLs(m, site, after)
		return err
	})
	return list, last, err
}

func (t *tx) leavingURLs(m cluster.HostsMove, site, after string) (list []LeavingURL, last string, err error) {
	n := 0
	err = t.Of(site).All("keys_page", []any{site, after, hostsPage}, tables.ScanPair(func(md5, url string) {
		n, last = n+1, md5
		if to := m.Target(url); to != "" {
			list = append(list, LeavingURL{md5, to})
		}
	}))
	if n < hostsPage {
		last = ""
	}
	return list, last, err
}

// MovedSite reads a site; nil for an unknown one.
func (s *Store) MovedSite(ctx context.Context, id string) (*MovedSite, error) {
	site, err := s.sites.Site(ctx, id)
	if err != nil || site == nil {
		return nil, err
	}
	attributes, err := s.attributes.Attributes(ctx, id, "", []string{"*"})
	return &MovedSite{*site, attributes}, err
}

// MovedURLs reads rows of a site in the order of the keys. Those in a batch are as URL_RETURN
// releases them.
func (s *Store) MovedURLs(ctx context.Context, site string, md5s []string) ([]MovedURL, error) {
	return tables.RunForResult(ctx, s.run.Read, "MovedURLs", func(t *tx) ([]MovedURL, error) {
		rows, err := t.ReadURLs(site, md5s)
		if err != nil {
			return nil, err
		}
		var list []MovedURL
		for _, md5 := range md5s {
			if row, ok := rows[md5]; ok {
				list = append(list, MovedURL{Row: t.releasedRow(row)})
			}
		}
		return list, t.readBelongings(site, list)
	})
}

// releasedRow is a row as URL_RETURN leaves it.
func (t *tx) releasedRow(u wire.URL) wire.URL {
	switch u.Status {
	case wire.StatusSelectedCrawling, wire.StatusCrawling, wire.StatusSelectedIncremental:
		u.Status = wire.StatusNew
	case wire.StatusSelectedProcessing, wire.StatusProcessing:
		u.Status = wire.StatusCrawled
	default:
		return u
	}
	u.State, u.BatchID, u.TcDate = wire.URLEnabled, 0, schema.Date(t.Now)
	return u
}

// readBelongings reads what belongs to rows of a site.
func (t *tx) readBelongings(site string, list []MovedURL) error {
	urls, at := make([]*wire.URL, len(list)), make(map[string]*MovedURL, len(list))
	for i := range list {
		u := &list[i]
		urls[i], at[u.Row.URLMd5] = &u.Row, u
	}
	md5s := tables.MapSlice(urls, tables.URLKey)
	err := tables.EachIn(t.tableTx, md5s, "SELECT URLMd5, Attempts FROM "+t.SiteTable(sqldb.URLs, site)+tables.OfKeys, []any{site},
		tables.ScanPair(func(md5 string, n int64) { at[md5].Attempts = n }))
	if err == nil {
		err = t.FillAttributes(site, urls, []string{"*"})
	}
	if err == nil {
		err = tables.EachIn(t.tableTx, md5s, "SELECT "+tables.ColumnList(wire.FreqColumns)+" FROM "+t.SiteTable(sqldb.Freqs, site)+tables.OfKeys, []any{site},
			tables.FrequencyRow(func(row wire.FreqRow) error {
				at[row.URLMd5].Freqs = append(at[row.URLMd5].Freqs, row)
				return nil
			}))
	}
	if err != nil {
		return err
	}
	head := "SELECT " + tables.ColumnList(wire.LogColumns) + " FROM " + t.SiteTable(sqldb.Logs, site) + tables.OfKeys
	return tables.ForEachChunk(md5s, func(in string, args []any) error {
		return t.Each(head+in+" ORDER BY "+t.DB.RowID(), slices.Concat([]any{site}, args), tables.EachRow(tables.FieldsOf[wire.LogRow](wire.LogColumns), func(row wire.LogRow) error {
			at[row.URLMd5].Log = append(at[row.URLMd5].Log, row)
			return nil
		}))
	})
}

// AllProxies reads the proxies of all sites.
func (s *Store) AllProxies(ctx context.Context) ([]wire.Proxy, error) {
	return tables.RunForResult(ctx, s.run.Read, "AllProxies", func(t *tx) (list []wire.Proxy, err error) {
		err = t.Each("SELECT "+tables.ColumnList(wire.ProxyColumns)+" FROM "+t.ProxiesTable()+" ORDER BY Id", nil, tables.AppendTo(&list, tables.FieldsOf[wire.Proxy](wire.ProxyColumns)))
		return list, err
	})
}

// HostsCame reports whether HostsArrive has stored a pack.
func (s *Store) HostsCame(ctx context.Context, r cluster.HostsUnpackRequest) (bool, error) {
	return tables.RunForResult(ctx, s.run.Read, "HostsCame", func(t *tx) (bool, error) {
		return t.Get("hosts_in_find", []any{r.Epoch, r.Group, r.From}, new(int))
	})
}

// HostsState counts the rows of this node, and names the nodes whose hosts came in a step.
func (s *Store) HostsState(ctx context.Context, r cluster.HostsStateRequest) (cluster.HostsCounted, error) {
	return tables.RunForResult(ctx, s.run.Read, "HostsState", func(t *tx) (c cluster.HostsCounted, err error) {
		c.Came = []string{}
		if _, err = t.Get("hosts_rows", nil, &c.Rows); err != nil {
			return c, err
		}
		return c, t.All("hosts_came", []any{r.Epoch, r.Group}, tables.AppendTo(&c.Came, tables.SingleTarget[string]))
	})
}

// HostsLeft reports whether HostsDrop has ended a step.
func (s *Store) HostsLeft(ctx context.Context, m cluster.HostsMove) (bool, error) {
	return tables.RunForResult(ctx, s.run.Read, "HostsLeft", func(t *tx) (bool, error) {
		return t.Get("hosts_out_find", []any{m.Epoch, m.Moved}, new(int))
	})
}

// HostsArrive stores the sites and rows that read passes to Arriving, and notes the pack, in one
// transaction. It may call read several times. A row that exists is replaced.
func (s *Store) HostsArrive(ctx context.Context, r cluster.HostsUnpackRequest, read func(*Arriving) error) (cluster.HostsMoved, error) {
	return tables.RunForResult(ctx, s.run.Update, "HostsArrive", func(t *tx) (moved cluster.HostsMoved, err error) {
		text, err := t.DB.Text("hosts_in_put", "")
		if err != nil {
			return moved, err
		}
		if _, first, err := t.Insert(text, r.Epoch, r.Group, r.From); err != nil || !first {
			return cluster.HostsMoved{Repeated: err == nil}, err
		}
		if _, err := t.Do("hosts_in_forget", r.Epoch); err != nil {
			return moved, err
		}
		a := &Arriving{tx: t}
		if err = read(a); err == nil {
			err = a.storeQueued()
		}
		return cluster.HostsMoved{Rows: a.rows}, err
	})
}

// Arriving stores what a pack has. Only the function that received it may use it.
type Arriving struct {
	*tx
	rows int64

	site  string // of queue
	queue []MovedURL
}

// arrivingPage bounds the rows that one set of queries stores.
const arrivingPage = 200

// Proxies stores the missing ones of proxies.
func (a *Arriving) Proxies(list []wire.Proxy) error {
	for i := range list {
		row := schema.PatchOf(&list[i], wire.ProxyColumns)
		delete(row, "Id")
		if _, err := a.InsertRow(a.ProxyTarget("Proxy", list[i].SiteID), row); err != nil {
			return err
		}
	}
	return nil
}

// Site makes a site that this node does not have. The general site of a new node, which has no data
// yet, takes over the lists.
func (a *Arriving) Site(moved *MovedSite, newNode bool) error {
	id := moved.Site.ID
	stored, err := a.StoredID(id)
	if err != nil {
		return err
	}
	if stored != "" {
		if !newNode || id != wire.GeneralSite {
			return nil
		}
		if used, err := a.Get("import_used", []any{id}, new(int)); err != nil || used {
			return err
		}
	}
	if err := a.importSite(id, counters.WithoutCounted(schema.PatchOf(&moved.Site, wire.SiteColumns))); err != nil {
		return err
	}
	if _, err := a.Of(id).Do("site_deleted_count", id, id); err != nil {
		return err
	}
	if err := a.PutList("Site.filters", tables.FiltersInfo, id, patchesOf(moved.Site.Filters, wire.FilterColumns)); err != nil {
		return err
	}
	if err := a.PutList("Site.properties", tables.PropertiesInfo, id, patchesOf(moved.Site.Properties, wire.PropertyColumns)); err != nil {
		return err
	}
	roots := make([]schema.Patch, 0, len(moved.Site.URLs))
	for i := range moved.Site.URLs {
		root := schema.PatchOf(&moved.Site.URLs[i].URL, wire.URLColumns)
		root["User_Id"] = moved.Site.URLs[i].UserID
		roots = append(roots, root)
	}
	if err := a.PutRoots("Site.urls", id, roots, nil); err != nil {
		return err
	}
	return a.SetAttributes(id, "", moved.Attributes)
}

func patchesOf[T any](rows []T, columns []schema.Column) []schema.Patch {
	list := make([]schema.Patch, len(rows))
	for i := range rows {
		list[i] = schema.PatchOf(&rows[i], columns)
	}
	return list
}

// URL stores a row with what belongs to it. Its site must exist.
func (a *Arriving) URL(u MovedURL) error {
	if a.site != u.Row.SiteID || len(a.queue) == arrivingPage {
		if err := a.storeQueued(); err != nil {
			return err
		}
		a.site = u.Row.SiteID
	}
	a.queue = append(a.queue, u)
	return nil
}

func (a *Arriving) storeQueued() error {
	queue := a.queue
	if a.queue = nil; len(queue) == 0 {
		return nil
	}
	site, err := a.OpenSite(a.site)
	if err != nil {
		return err
	}
	md5s := tables.MapSlice(queue, func(u MovedURL) string { return u.Row.URLMd5 })
	var rows, attributes, freqs, log []schema.Patch
	for i := range queue {
		u := &queue[i]
		row := schema.PatchOf(&u.Row, wire.URLColumns)
		row["Attempts"] = u.Attempts
		rows = append(rows, row)
		for _, at := range u.Row.Attributes {
			attributes = append(attributes, schema.Patch{"URLMd5": at.URLMd5, "Name": at.Name, "Value": at.Value, "CDate": string(at.CDate)})
		}
		freqs = append(freqs, patchesOf(u.Freqs, wire.FreqColumns)...)
		log = append(log, patchesOf(u.Log, wire.LogColumns)...)
	}
	err = a.RunCounted(site, md5s, func() error {
		return a.replaceRows(site, md5s, rows, sqldb.URLs, append(slices.Clone(importColumns[PartURLs]), "Attempts"))
	})
	if err == nil {
		err = a.replaceRows(site, md5s, attributes, sqldb.Attributes, importColumns[PartAttributes])
	}
	if err == nil {
		err = a.replaceRows(site, md5s, freqs, sqldb.Freqs, importColumns[PartFreqs])
	}
	if err == nil && len(log) > 0 {
		_, err = a.insertAll(a.SiteTable(sqldb.Logs, site), importColumns[PartLog], site, log)
	}
	if err == nil {
		err = a.WantLease(site)
	}
	a.rows += int64(len(queue))
	return err
}

// replaceRows deletes the rows of keys and inserts rows.
func (a *Arriving) replaceRows(site string, md5s []string, rows []schema.Patch, database string, columns []string) error {
	if err := a.DeleteKeys(database, site, md5s); err != nil || len(rows) == 0 {
		return err
	}
	fresh, err := a.insertAll(a.SiteTable(database, site), columns, site, rows)
	if err == nil && len(fresh) != len(rows) {
		err = fmt.Errorf("the pack has a key of site %s twice", site)
	}
	return err
}

// HostsDrop deletes the rows that a step moves, with what belongs to them, and puts their contents in
// the trash. Rows that wait for URL_PURGE stay.
func (s *Store) HostsDrop(ctx context.Context, r cluster.HostsPackRequest) (cluster.HostsMoved, error) {
	var moved cluster.HostsMoved
	left, err := s.HostsLeft(ctx, r.Move)
	if err != nil || left {
		return cluster.HostsMoved{Repeated: left}, err
	}
	sites, err := s.sites.SiteIDs(ctx)
	for _, site := range sites {
		for after, end := "", false; err == nil && !end; end = after == "" {
			var list []LeavingURL
			if list, after, err = s.HostsLeaving(ctx, r.Move, site, after); err != nil || len(list) == 0 {
				continue
			}
			md5s := tables.MapSlice(list, func(l LeavingURL) string { return l.MD5 })
			err = s.run.Update(ctx, "HostsDrop", func(t *tx) error { return t.dropMoved(site, md5s) })
			moved.Rows += int64(len(list))
		}
	}
	if err != nil {
		return cluster.HostsMoved{}, err
	}
	return moved, s.run.Update(ctx, "HostsDrop", func(t *tx) error {
		if _, err := t.Do("hosts_out_put", r.Move.Epoch, r.Move.Moved); err != nil {
			return err
		}
		_, err := t.Do("hosts_out_forget", r.Move.Epoch)
		return err
	})
}

func (t *tx) dropMoved(id string, md5s []string) error {
	site, err := t.StoredID(id)
	if err != nil || site == "" {
		return err
	}
	if err := t.PutInTrash(site, md5s); err != nil {
		return err
	}
	if err := t.RunCounted(site, md5s, func() error { return t.DeleteKeys(sqldb.URLs, site, md5s) }); err != nil {
		return err
	}
	for _, database := range []string{sqldb.Attributes, sqldb.Freqs, sqldb.Logs} {
		if err := t.DeleteKeys(database, site, md5s); err != nil {
			return err
		}
	}
	if err := t.ShrinkLease(site); err != nil {
		return err
	}
	return t.NewEpoch(site)
}

// HostsAdopt gives the root URLs of all sites that this node owns by a placement a new row if they
// have none, and forgets which links were sent, each site in its own transaction. Links that wait
// stay. It returns the number of new rows.
func (s *Store) HostsAdopt(ctx context.Context, r cluster.HostsAdoptRequest) (cluster.HostsMoved, error) {
	var moved cluster.HostsMoved
	sites, err := s.sites.SiteIDs(ctx)
	for _, site := range append(sites, "") { // "": links whose site the owner chooses
		if err != nil {
			break
		}
		var n int64
		n, err = tables.RunForResult(ctx, s.run.Update, "HostsAdopt", func(t *tx) (int64, error) { return t.adoptSite(site, r.Placement) })
		moved.Rows += n
	}
	return moved, err
}

func (t *tx) adoptSite(site string, p placement.Placement) (rows int64, err error) {
	if err := t.DoAll(site, "links_out_delete"); err != nil || site == "" {
		return 0, err
	}
	if site, err = t.StoredID(site); err != nil || site == "" {
		return 0, err
	}
	t.Place = p
	before, err := t.ownURLs(site)
	if err == nil {
		err = t.CopyRoots(site, true)
	}
	if err == nil { // what was sent to the lost node is not known any more
		err = t.NewEpoch(site)
	}
	if err != nil {
		return 0, err
	}
	after, err := t.ownURLs(site)
	return after - before, err
}

func (t *tx) ownURLs(site string) (n int64, err error) {
	_, err = t.Row("SELECT OwnURLs FROM "+t.SitesTable()+" WHERE Id = ?", []any{site}, &n)
	return n, err
}

package counters

import (
	"slices"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// createdAt is the place of CDate in a row.
var createdAt = slices.IndexFunc(wire.URLColumns, func(c schema.Column) bool { return c.Name == "CDate" })

// AddURLs inserts complete rows of a site and counts them. The keys must be new and
// unique. Values are adapted to their columns (schema.Column.Fit), because most rows are
// links of pages.
func (t *Tx) AddURLs(site string, urls []*wire.URL) error {
	if len(urls) == 0 {
		return nil
	}
	rows := make([][]any, len(urls))
	for i, u := range urls {
		u.SiteID = site
		rows[i] = schema.FitRow(u, wire.URLColumns)
		if u.CDate == "" {
			u.CDate, rows[i][createdAt] = schema.Date(t.Now), t.Now
		}
	}
	columns, rows := withoutDefaults(rows)
	if err := t.InsertRows("INSERT INTO "+t.SiteTable(sqldb.URLs, site)+" ("+tables.ColumnList(columns)+")", rows); err != nil {
		return err
	}
	added, err := t.TallyOf(site, urls)
	if err != nil {
		return err
	}
	if err := t.addDifference(site, Tally{}, added); err != nil {
		return err
	}
	for _, u := range urls {
		if err := t.StatisticsOf(site).RecordInsert(u.URLMd5, u.Status, u); err != nil {
			return err
		}
	}
	return nil
}

// OwnDefaults are the columns of URLs whose default in the database is not 0, ” or NULL.
var OwnDefaults = []string{"Site_Id", "Status", "RequestDelay", "ProcessingDelay", "HTTPTimeout", "CDate", "MaxURLsFromPage"}

// withoutDefaults leaves out the columns in which all rows have the default of the database: most
// columns of a new link. To pass and to parse them is half of the work of an INSERT.
func withoutDefaults(rows [][]any) (columns []schema.Column, short [][]any) {
	var kept []int
	for i, c := range wire.URLColumns {
		differs := func(row []any) bool { return !IsZero(row[i]) }
		if slices.Contains(OwnDefaults, c.Name) || slices.ContainsFunc(rows, differs) {
			columns, kept = append(columns, c), append(kept, i)
		}
	}
	short = tables.MapSlice(rows, func(row []any) []any { return tables.MapSlice(kept, func(i int) any { return row[i] }) })
	return columns, short
}

// IsZero reports whether a value of a column is NULL, 0 or empty.
func IsZero(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case int64:
		return v == 0
	case float64:
		return v == 0
	case string:
		return v == ""
	}
	return false
}

// CopyToDeleted begins a statement that copies rows of URLs to those that wait for
// URL_PURGE.
func (t *Tx) CopyToDeleted(site string) string {
	columns := tables.URLColumnList + ", Attempts"
	return "INSERT INTO " + t.SiteTable(sqldb.Deleted, site) + " (" + columns + ") SELECT " + columns + " FROM " + t.SiteTable(sqldb.URLs, site)
}

// SetURLs changes rows of g's site and updates the counters.
func (t *Tx) SetURLs(g tables.Target, rows []tables.URLStatus, set schema.Patch) error {
	keys := tables.MD5sOf(rows)
	return t.RunCounted(g.Site, keys, func() error { return t.SetKeys(g, keys, set) })
}

// DeleteURLs deletes rows of a site with their contents and attributes. It also deletes
// contents and attributes of keys without a row.
func (t *Tx) DeleteURLs(site string, md5s []string, r wire.URLDeleteRequest) error {
	rows, err := t.WithRows(site, md5s)
	if err != nil {
		return err
	}
	if err := t.KeepOrTrash(site, rows, md5s, r.DelayedType); err != nil {
		return err
	}
	err = t.RunCounted(site, rows, func() error { return t.DeleteKeys(sqldb.URLs, site, rows) })
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		err = t.NewEpoch(site)
	}
	if err != nil {
		return err
	}
	if err := t.DeleteKeys(sqldb.Attributes, site, md5s); err != nil {
		return err
	}
	return t.StatisticsOf(site).RecordEvents(rows, []string{"FDel", "FDeleted"}, logDelete, r)
}

// WithRows returns the keys that have a row.
func (t *Tx) WithRows(site string, md5s []string) ([]string, error) {
	found, err := t.KeysWithRow(sqldb.URLs, site, md5s)
	return slices.DeleteFunc(slices.Clone(md5s), func(md5 string) bool { return !found[md5] }), err
}

// KeepOrTrash prepares a deletion. If it is delayed, it copies the rows to those that
// wait for URL_PURGE and counts them. Otherwise it puts the contents of md5s in the trash.
func (t *Tx) KeepOrTrash(site string, rows, md5s []string, delayedType int64) error {
	if delayedType != wire.Delayed {
		return t.PutInTrash(site, md5s)
	}
	_, err := tables.ExecIn(t.tableTx, rows, t.CopyToDeleted(site)+tables.OfKeys, site)
	if err == nil && len(rows) > 0 {
		_, err = t.Do("site_deleted_more", len(rows), site)
	}
	return err
}

// PutInTrash puts the contents of URLs in the trash.
func (t *Tx) PutInTrash(site string, md5s []string) error {
	rows := tables.MapSlice(md5s, func(md5 string) []any { return []any{site, md5} })
	return t.InsertRows("INSERT INTO "+t.DB.Table(sqldb.Sites, "trash")+" (Site_Id, URLMd5)", rows)
}

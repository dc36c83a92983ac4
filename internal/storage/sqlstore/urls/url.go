package urls

import (
	"context"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
)

// Rows reads rows of a site by key. Missing keys are not in the map.
func (s *Store) Rows(ctx context.Context, site string, md5s []string) (map[string]wire.URL, error) {
	return tables.OfStored(ctx, s.run.Read, "Rows", site, func(t *Tx, site string) (map[string]wire.URL, error) { return t.ReadURLs(site, md5s) })
}

// URLTexts reads the URL texts of keys. Missing keys are not in the map.
func (s *Store) URLTexts(ctx context.Context, site string, md5s []string) (map[string]string, error) {
	return tables.OfStored(ctx, s.run.Read, "URLTexts", site, func(t *Tx, site string) (map[string]string, error) {
		texts := make(map[string]string, len(md5s))
		return texts, tables.EachIn(t.tableTx, md5s, "SELECT URLMd5, URL FROM "+t.SiteTable(sqldb.URLs, site)+tables.OfKeys, []any{site}, tables.ScanPair(func(md5, text string) { texts[md5] = text }))
	})
}

// KnownURLs returns the keys that have a row in a site.
func (s *Store) KnownURLs(ctx context.Context, site string, md5s []string) (map[string]bool, error) {
	return tables.OfStored(ctx, s.run.Read, "KnownURLs", site, func(t *Tx, site string) (map[string]bool, error) { return t.KeysWithRow(sqldb.URLs, site, md5s) })
}

// Key identifies a stored URL.
type Key struct {
	SiteID, URLMd5 string
}

// URLStatus reads rows in the order of the request (docs/spec/storage.md 4.8). It skips
// unknown sites and URLs.
func (s *Store) URLStatus(ctx context.Context, list []wire.URLStatusRequest) ([]wire.URL, error) {
	return tables.ReadAll(ctx, s.run.Read, "URLStatus", list, func(t *Tx, _ string, r wire.URLStatusRequest) ([]wire.URL, error) {
		site, err := t.StoredID(r.SiteID)
		if err != nil || site == "" {
			return nil, err
		}
		rows, err := t.ReadURLs(site, []string{r.URLMd5})
		if row, ok := rows[r.URLMd5]; ok {
			return []wire.URL{row}, err
		}
		return nil, err
	})
}

// Fields returns columns of a row for dbFields of URL_CONTENT (docs/spec/storage.md 4.13).
// The keys are the requested names, which match columns without regard to case. A value
// is an int64, a float64 or a string, and nil for an unknown column or a NULL date.
func Fields(row *wire.URL, names []string) map[string]any {
	fields := make(map[string]any, len(names))
	values := schema.PatchOf(row, wire.URLColumns)
	for _, name := range names {
		fields[name] = nil
		for _, c := range wire.URLColumns {
			if strings.EqualFold(c.Name, name) {
				fields[name] = values[c.Name]
			}
		}
	}
	return fields
}

// URLUpdate changes rows (docs/spec/storage.md 4.9). Statuses has true for each element
// that sets a column, even if it finds no row. It has false for an unknown site, for an
// element that selects no row and for a refused one; ErrorMessage has the first reason.
func (s *Store) URLUpdate(ctx context.Context, list []wire.URLUpdateRequest) (wire.GeneralResponse, error) {
	return tables.ChangeEach(ctx, s.run.Update, "URLUpdate", list, false, (*Tx).updateURL)
}

func (t *Tx) updateURL(object string, r wire.URLUpdateRequest) (written bool, err error) {
	site, err := t.StoredID(r.SiteID)
	if err != nil || site == "" {
		return false, err
	}
	if r.URLMd5 == "" && r.Criterion.Where == "" {
		return false, &lenient.FieldError{Object: object, Field: "urlMd5", Reason: "is missing, and so is criterions.WHERE"}
	}
	set := tables.ClonePatch(r.Set)
	if tag, ok := set["ETag"].(string); ok {
		set["ETag"] = strings.Trim(tag, `"`)
	}
	rows, err := t.SelectURLs(object+".criterions", site, r.Criterion, r.URLMd5)
	if err != nil {
		return false, err
	}
	g := t.URLsTarget(object, site)
	if _, _, err := t.BuildAssignments(g, set); err != nil { // refuse it even if no row is selected
		return false, err
	}
	if err := t.SetURLs(g, rows, set); err != nil {
		return false, err
	}
	if err := t.StatisticsOf(site).RecordUpdates(rows, set); err != nil {
		return false, err
	}
	if r.URLMd5 != "" && len(rows) > 0 {
		err = t.SetAttributes(site, r.URLMd5, r.Attributes)
	}
	return len(set) > 0, err
}

// URLVerify reads for each element a row of a site's URLs, or of those that wait for
// URL_PURGE (docs/spec/storage.md 4.17). The answer is nil if the row, the site or the
// database does not exist or the criterion does not match. An invalid criterion is an
// error with its clause.
func (s *Store) URLVerify(ctx context.Context, list []wire.URLVerifyRequest) ([]*wire.URL, error) {
	return tables.ReadEach(ctx, s.run.Read, "URLVerify", list, (*Tx).verifyRows)
}

func (t *Tx) verifyRows(object string, r wire.URLVerifyRequest) (first *wire.URL, err error) {
	if r.Null {
		return nil, nil
	}
	object += ".criterions"
	database := ""
	for _, d := range []string{sqldb.URLs, sqldb.Deleted} {
		if r.Database == d || r.Database == t.DB.Name(d) {
			database = d
		}
	}
	_, err = t.RowsClauses(sqldb.URLs, object, r.SiteID, r.Criterion) // refuse before reading
	if err != nil || database == "" {
		return nil, err
	}
	site, err := t.StoredID(r.SiteID)
	if err != nil {
		return nil, err
	}
	if site == "" {
		site = r.SiteID
		if waits, err := t.HasSite(database, site); err != nil || !waits {
			return nil, err
		}
	}
	c, err := t.RowsClauses(database, object, site, r.Criterion)
	if err != nil {
		return nil, err
	}
	text, args := c.BuildQuery("SELECT "+tables.URLColumnList+" FROM "+t.SiteTable(database, site)+c.As, tables.OfSite(site), expr.SQL{Text: "(URLMd5 = ?)", Args: []any{r.URLMd5}})
	err = t.EachURL(t.WithNamedTables(site, text), args, func(u wire.URL) {
		if first == nil {
			first = &u
		}
	})
	return first, err
}

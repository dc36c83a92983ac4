package sqlstore

import (
	"context"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// Key identifies a stored URL.
type Key struct {
	SiteID, URLMd5 string
}

func clipText(s string) string { return clipTo(s, 100) }

// clipTo shortens a text for a message to at most size bytes and "...".
func clipTo(s string, size int) string {
	if len(s) > size {
		s = strings.ToValidUTF8(s[:size], "") + "..."
	}
	return s
}

// URLStatus reads rows in the order of the request (docs/spec/storage.md 4.8). It skips
// unknown sites and URLs.
func (s *Store) URLStatus(ctx context.Context, list []wire.URLStatusRequest) ([]wire.URL, error) {
	return readAll(ctx, s.runReadTx, "URLStatus", list, func(t *tx, _ string, r wire.URLStatusRequest) ([]wire.URL, error) {
		site, err := t.storedID(r.SiteID)
		if err != nil || site == "" {
			return nil, err
		}
		rows, err := t.readURLs(site, []string{r.URLMd5})
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
	values := wire.PatchOf(row, wire.URLColumns)
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
	return changeEach(ctx, s.runUpdateTx, "URLUpdate", list, false, (*tx).updateURL)
}

func (t *tx) updateURL(object string, r wire.URLUpdateRequest) (written bool, err error) {
	site, err := t.storedID(r.SiteID)
	if err != nil || site == "" {
		return false, err
	}
	if r.URLMd5 == "" && r.Criterion.Where == "" {
		return false, &wire.FieldError{Object: object, Field: "urlMd5", Reason: "is missing, and so is criterions.WHERE"}
	}
	set := clonePatch(r.Set)
	if tag, ok := set["ETag"].(string); ok {
		set["ETag"] = strings.Trim(tag, `"`)
	}
	rows, err := t.selectURLs(object+".criterions", site, r.Criterion, r.URLMd5)
	if err != nil {
		return false, err
	}
	g := t.urlsTarget(object, site)
	if _, _, err := t.buildAssignments(g, set); err != nil { // refuse it even if no row is selected
		return false, err
	}
	if err := t.setURLs(g, rows, set); err != nil {
		return false, err
	}
	if err := t.statisticsOf(site).recordUpdates(rows, set); err != nil {
		return false, err
	}
	if r.URLMd5 != "" && len(rows) > 0 {
		err = t.setAttributes(site, r.URLMd5, r.Attributes)
	}
	return len(set) > 0, err
}

// urlStatus is the key and the Status of a row.
type urlStatus struct {
	md5    string
	status int64
}

func (u *urlStatus) scanTargets() []any { return []any{&u.md5, &u.status} }

func md5sOf(rows []urlStatus) []string {
	return mapSlice(rows, func(u urlStatus) string { return u.md5 })
}

// setURLs changes rows of g's site and updates the counters.
func (t *tx) setURLs(g target, rows []urlStatus, set wire.Patch) error {
	keys := md5sOf(rows)
	return t.runCounted(g.site, keys, func() error { return t.setKeys(g, keys, set) })
}

// selectURLs reads the rows of a site that match a criterion and, unless it is "", a
// key. It is a separate query because a cancelled context interrupts only queries.
func (t *tx) selectURLs(object, site string, c wire.Criterion, md5 string) (rows []urlStatus, err error) {
	text, args, err := t.urlQuery("URLMd5, Status", object, site, c, md5)
	if err == nil {
		err = t.Each(t.withNamedTables(site, text), args, appendTo(&rows, (*urlStatus).scanTargets))
	}
	return rows, err
}

// urlQuery is the SELECT of selectURLs.
func (t *tx) urlQuery(columns, object, site string, c wire.Criterion, md5 string) (string, []any, error) {
	p, err := t.urlClauses(object, site, t.urlScope(site), c)
	if err != nil {
		return "", nil, err
	}
	var key expr.SQL
	if md5 != "" {
		key = expr.SQL{Text: "(URLMd5 = ?)", Args: []any{md5}}
	}
	text, args := p.buildQuery("SELECT "+columns+" FROM "+t.siteTable(sqldb.URLs, site)+p.as, ofSite(site), key)
	return text, args, nil
}

// URLVerify reads for each element a row of a site's URLs, or of those that wait for
// URL_PURGE (docs/spec/storage.md 4.17). The answer is nil if the row, the site or the
// database does not exist or the criterion does not match. An invalid criterion is an
// error with its clause.
func (s *Store) URLVerify(ctx context.Context, list []wire.URLVerifyRequest) ([]*wire.URL, error) {
	return readEach(ctx, s.runReadTx, "URLVerify", list, (*tx).verifyRows)
}

func (t *tx) verifyRows(object string, r wire.URLVerifyRequest) (first *wire.URL, err error) {
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
	_, err = t.rowsClauses(sqldb.URLs, object, r.SiteID, r.Criterion) // refuse before reading
	if err != nil || database == "" {
		return nil, err
	}
	site, err := t.storedID(r.SiteID)
	if err != nil {
		return nil, err
	}
	if site == "" {
		site = r.SiteID
		if waits, err := t.HasSite(database, site); err != nil || !waits {
			return nil, err
		}
	}
	c, err := t.rowsClauses(database, object, site, r.Criterion)
	if err != nil {
		return nil, err
	}
	text, args := c.buildQuery("SELECT "+urlColumns+" FROM "+t.siteTable(database, site)+c.as, ofSite(site), expr.SQL{Text: "(URLMd5 = ?)", Args: []any{r.URLMd5}})
	err = t.eachURL(t.withNamedTables(site, text), args, func(u wire.URL) {
		if first == nil {
			first = &u
		}
	})
	return first, err
}

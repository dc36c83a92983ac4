package sites

import (
	"context"
	"fmt"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
)

// SiteDelete deletes sites with their rows and lists (docs/spec/storage.md 4.5). Statuses
// has 0 for each site, also for an unknown id, and 1 for a refused element such as the
// general site. A criterion without a clause selects no site. Immediate deletion puts the
// files of the site in the trash. Delayed deletion keeps copies of the rows, and the
// contents, until URL_PURGE has removed the last copy (docs/spec/storage.md 6.2 #5).
func (s *Store) SiteDelete(ctx context.Context, list []wire.SiteDeleteRequest) (wire.GeneralResponse, error) {
	return tables.RunForResult(ctx, s.run.Update, "SiteDelete", func(t *Tx) (wire.GeneralResponse, error) {
		answer := wire.GeneralResponse{Statuses: []any{}}
		var texts []string
		for i, r := range list {
			text := "OK"
			ids, err := t.sitesToDelete(tables.ElementName("SiteDelete", i), r)
			if err != nil {
				if !tables.IsRefusal(err) {
					return answer, err
				}
				answer.ErrorCode, text, ids = wire.CodeFailed, tables.ClientMessage(err), nil
				answer.Statuses = append(answer.Statuses, wire.CodeFailed)
			}
			for _, id := range ids {
				if err := t.deleteSite(id, r.DelayedType == wire.Immediate); err != nil {
					return answer, err
				}
				answer.Statuses = append(answer.Statuses, wire.CodeOK)
			}
			texts = append(texts, text)
		}
		answer.ErrorMessage = strings.Join(texts, "-")
		return answer, nil
	})
}

func (t *Tx) sitesToDelete(object string, r wire.SiteDeleteRequest) ([]string, error) {
	if r.ID == wire.GeneralSite {
		return nil, &lenient.FieldError{Object: object, Field: "id", Value: r.ID, Reason: "is the general site, which cannot be deleted"}
	}
	if r.ID != "" {
		return []string{r.ID}, wire.CheckSiteID(object, "id", r.ID)
	}
	if r.Criterion.Empty() {
		return nil, nil
	}
	notGeneral := expr.SQL{Text: "(" + t.SitesTable() + ".Id <> ?)", Args: []any{wire.GeneralSite}}
	return t.SelectSites(object+".criterions", r.Criterion, notGeneral)
}

// deleteSite deletes a site. Immediate deletion also removes the remains of a site that
// has no row.
func (t *Tx) deleteSite(id string, immediate bool) error {
	site, err := t.StoredID(id)
	if err != nil {
		return err
	}
	if site == "" {
		return t.deleteRemains(id, immediate)
	}
	if !immediate {
		if _, err := t.Exec(t.CopyToDeleted(site)+" WHERE Site_Id = ?", site); err != nil {
			return err
		}
	}
	if err := t.DoAll(site, "site_delete", "roots_delete", "filters_delete", "properties_delete", "import_forget", "links_out_delete", "links_waiting_delete", "links_held_delete"); err != nil {
		return err
	}
	if err := t.DropSite(site, tables.LiveDatabases...); err != nil {
		return err
	}
	if !immediate {
		if waits, err := t.AwaitsPurge(site); err != nil || waits {
			return err
		}
	}
	return t.DropRest(site)
}

func (t *Tx) deleteRemains(id string, immediate bool) error {
	if !immediate {
		return nil
	}
	free, err := t.ReserveID(id)
	if err != nil {
		return err
	}
	if !free { // another transaction has just made the site
		return t.deleteSite(id, immediate)
	}
	if err := t.DropSite(id, tables.LiveDatabases...); err != nil {
		return err
	}
	return t.DropRest(id)
}

// AwaitsPurge reports whether deleted rows of a site wait for URL_PURGE.
func (t *Tx) AwaitsPurge(site string) (bool, error) {
	return t.Of(site).Get("deleted_any", []any{site}, new(int))
}

// DropRest removes the rows that wait for URL_PURGE and all contents of a site.
func (t *Tx) DropRest(id string) error {
	if _, err := t.Do("trash_put", id, ""); err != nil {
		return err
	}
	return t.DropSite(id, sqldb.Deleted, sqldb.Contents)
}

// ReserveID reserves the id of a site without a row until the end of the transaction.
// Free is false if the site exists in the meantime. Inserting and deleting a row makes
// the database block other transactions that insert it.
func (t *Tx) ReserveID(id string) (free bool, err error) {
	text, err := t.DB.Text("site_claim", "")
	if err != nil {
		return false, err
	}
	if _, free, err = t.Insert(text, id, t.Now); err != nil || !free {
		return false, err
	}
	_, err = t.Do("site_delete", id)
	return true, err
}

// SiteCleanup removes the URLs of sites (docs/spec/storage.md 4.6). Statuses has 0 or
// CodeNotFound for each element; ErrorCode is the last of them. Root URLs that are kept
// become new: Status 1, State 0, counters 0 (docs/spec/DECISIONS.md 5.10). Delayed
// cleanup copies the removed rows to dc_urls_deleted. Immediate cleanup puts the files of
// the whole site in the trash.
func (s *Store) SiteCleanup(ctx context.Context, list []wire.SiteCleanupRequest) (wire.GeneralResponse, error) {
	return tables.RunForResult(ctx, s.run.Update, "SiteCleanup", func(t *Tx) (wire.GeneralResponse, error) {
		answer := wire.GeneralResponse{Statuses: []any{}}
		var texts []string
		for _, r := range list {
			id, err := t.StoredID(r.ID)
			if err != nil {
				return answer, err
			}
			code, text := wire.CodeOK, "OK"
			if id == "" {
				code, text = wire.CodeNotFound, fmt.Sprintf(">>> Site id [%s] not found", tables.ClipText(r.ID))
			} else if err := t.cleanSite(id, r); err != nil {
				return answer, err
			}
			answer.ErrorCode = code
			answer.Statuses = append(answer.Statuses, code)
			texts = append(texts, text)
		}
		answer.ErrorMessage = strings.Join(texts, "-")
		return answer, nil
	})
}

func (t *Tx) cleanSite(id string, r wire.SiteCleanupRequest) error {
	where, remove := " WHERE Site_Id = ?", "urls_delete"
	if r.SaveRootURLs {
		where, remove = where+" AND ParentMd5 <> ''", "urls_delete_found"
	}
	stats := t.StatisticsOf(id)
	err := stats.LoadSwitches()
	if err != nil {
		return err
	}
	if stats.Freq && r.HistoryCleanUp < 2 {
		_, err := t.Exec("UPDATE "+t.SiteTable(sqldb.Freqs, id)+" SET FDeleted = FDeleted + 1, MDate = ?"+tables.OfKeys+
			"(SELECT URLMd5 FROM "+t.SiteTable(sqldb.URLs, id)+where+")", t.Now, id, id)
		if err != nil {
			return err
		}
	}
	steps := []string{remove, "attributes_delete", "links_out_delete", "links_waiting_delete", "links_held_delete"}
	if r.DelayedType == wire.Delayed {
		_, err = t.Exec(t.CopyToDeleted(id)+where, id)
	} else {
		steps = append(steps, "contents_delete")
		_, err = t.Do("trash_put", id, "")
	}
	if err != nil {
		return err
	}
	if r.HistoryCleanUp >= 1 {
		steps = append(steps, "log_delete")
	}
	if r.HistoryCleanUp >= 2 {
		steps = append(steps, "freq_delete")
	}
	if err := t.DoAll(id, steps...); err != nil {
		return err
	}
	if err := t.NewEpoch(id); err != nil {
		return err
	}
	if _, err := t.Of(id).Do("urls_reset", t.Now, id); err != nil {
		return err
	}
	if _, err := t.Do("site_cleaned", t.Now, r.State, id); err != nil {
		return err
	}
	if r.MoveURLs {
		if err := t.CopyRoots(id, true); err != nil {
			return err
		}
	}
	return t.RecountSite(id)
}

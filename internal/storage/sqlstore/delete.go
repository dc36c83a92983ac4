package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

var errGeneral = errors.New("is the general site, which cannot be deleted")

// SiteDelete deletes sites with their rows and lists (docs/spec/storage.md 4.5). Statuses
// has 0 for each, also for an id that is unknown; the general site is refused
// with 1. A criterion without a clause selects none. Immediate deletion leaves
// the site's files to Trash. After delayed deletion its rows wait, and contents
// stay, until URL_PURGE has taken the last of them (docs/spec/storage.md 6.2 #5).
func (s *Store) SiteDelete(ctx context.Context, list []wire.SiteDeleteRequest) (wire.GeneralResponse, error) {
	var answer wire.GeneralResponse
	var texts []string
	err := s.update(ctx, "SiteDelete", func(t *tx) error {
		answer, texts = wire.GeneralResponse{Statuses: []any{}}, nil
		for i, r := range list {
			text := "OK"
			ids, err := t.doomed(fmt.Sprintf("SiteDelete[%d]", i), r)
			if err != nil && !refused(err) {
				return err
			}
			if err != nil {
				answer.ErrorCode, text = wire.CodeFailed, message(err)
				ids = nil
				answer.Statuses = append(answer.Statuses, wire.CodeFailed)
			}
			for _, id := range ids {
				if err := t.deleteSite(id, r.DelayedType == wire.Immediate); err != nil {
					return err
				}
				answer.Statuses = append(answer.Statuses, wire.CodeOK)
			}
			texts = append(texts, text)
		}
		return nil
	})
	answer.ErrorMessage = strings.Join(texts, "-")
	return answer, err
}

func (t *tx) doomed(object string, r wire.SiteDeleteRequest) ([]string, error) {
	if r.ID == wire.GeneralSite {
		return nil, &wire.FieldError{Object: object, Field: "id", Value: r.ID, Reason: errGeneral.Error()}
	}
	if r.ID != "" {
		return []string{r.ID}, wire.CheckSiteID(object, "id", r.ID)
	}
	if r.Criterion.Empty() {
		return nil, nil
	}
	notGeneral := expr.SQL{Text: "(" + t.DB.Table(sqldb.Sites, "sites") + ".Id <> ?)", Args: []any{wire.GeneralSite}}
	return t.selectSites(object+".criterions", r.Criterion, notGeneral)
}

// deleteSite deletes a site. Immediately, it also clears what is left of one that
// has no row.
func (t *tx) deleteSite(id string, immediate bool) error {
	stored, err := t.known(id)
	if err != nil {
		return err
	}
	if stored == "" {
		return t.deleteGone(id, immediate)
	}
	if !immediate {
		columns := urlColumns + ", Attempts"
		if _, err := t.Exec("INSERT INTO "+t.table(sqldb.Deleted, stored)+" ("+columns+") SELECT "+columns+" FROM "+t.table(sqldb.URLs, stored)+" WHERE Site_Id = ?", stored); err != nil {
			return err
		}
	}
	for _, name := range []string{"site_delete", "roots_delete", "filters_delete", "properties_delete", "import_forget"} {
		if _, err := t.Do(name, stored); err != nil {
			return err
		}
	}
	if err := t.DropSite(stored, sqldb.URLs, sqldb.Attributes, sqldb.Freqs, sqldb.Logs); err != nil {
		return err
	}
	if !immediate {
		var one int
		if waits, err := t.Of(stored).Get("deleted_any", []any{stored}, &one); err != nil || waits {
			return err
		}
	}
	return t.forget(stored)
}

func (t *tx) deleteGone(id string, immediate bool) error {
	if !immediate {
		return nil
	}
	free, err := t.claim(id)
	if err != nil {
		return err
	}
	if !free { // another request has just made it
		return t.deleteSite(id, immediate)
	}
	if err := t.DropSite(id, sqldb.URLs, sqldb.Attributes, sqldb.Freqs, sqldb.Logs); err != nil {
		return err
	}
	return t.forget(id)
}

// forget lets go of the last of a site: rows that wait for URL_PURGE, and all
// contents.
func (t *tx) forget(id string) error {
	if _, err := t.Do("trash_put", id, ""); err != nil {
		return err
	}
	return t.DropSite(id, sqldb.Deleted, sqldb.Contents)
}

// claim holds the id of a site that has no row, so that none of that id comes
// before the transaction ends; free is false when one came meanwhile. A row that
// goes at once is what does it: the database makes others that insert one wait.
func (t *tx) claim(id string) (free bool, err error) {
	text, err := t.DB.Text("site_claim", "")
	if err != nil {
		return false, err
	}
	if _, free, err = t.Insert(text, id, t.now); err != nil || !free {
		return false, err
	}
	_, err = t.Do("site_delete", id)
	return true, err
}

package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hce/dc/internal/db"
	"hce/dc/internal/dc"
	"hce/dc/internal/expr"
)

var errGeneral = errors.New("is the general site, which cannot be deleted")

// SiteDelete deletes sites with their rows and lists (storage 4.5). Statuses
// has 0 for each, also for an id that is unknown; the general site is refused
// with 1. A criterion without a clause selects none. Immediate deletion leaves
// the site's files to Trash; delayed deletion keeps them.
func (s *Store) SiteDelete(ctx context.Context, list []dc.SiteDeleteRequest) (dc.GeneralResponse, error) {
	answer := dc.GeneralResponse{Statuses: []any{}}
	var texts []string
	err := s.update(ctx, "SiteDelete", func(t *tx) error {
		for i, r := range list {
			text := "OK"
			ids, err := t.doomed(fmt.Sprintf("SiteDelete[%d]", i), r)
			if err != nil && !refused(err) {
				return err
			}
			if err != nil {
				answer.ErrorCode, text = dc.CodeFailed, message(err)
				ids = nil
				answer.Statuses = append(answer.Statuses, dc.CodeFailed)
			}
			for _, id := range ids {
				if err := t.deleteSite(id, r.DelayedType == dc.Immediate); err != nil {
					return err
				}
				answer.Statuses = append(answer.Statuses, dc.CodeOK)
			}
			texts = append(texts, text)
		}
		return nil
	})
	answer.ErrorMessage = strings.Join(texts, "-")
	return answer, err
}

func (t *tx) doomed(object string, r dc.SiteDeleteRequest) ([]string, error) {
	if r.ID == dc.GeneralSite {
		return nil, &dc.FieldError{Object: object, Field: "id", Value: r.ID, Reason: errGeneral.Error()}
	}
	if r.ID != "" {
		return []string{r.ID}, dc.CheckSiteID(object, "id", r.ID)
	}
	if r.Criterion.Empty() {
		return nil, nil
	}
	notGeneral := expr.SQL{Text: "(" + t.DB.Table(db.Sites, "sites") + ".Id <> ?)", Args: []any{dc.GeneralSite}}
	return t.selectSites(object+".criterions", r.Criterion, notGeneral)
}

// deleteSite also clears what is left of a site that has no row.
func (t *tx) deleteSite(id string, immediate bool) error {
	stored, err := t.known(id)
	if err != nil {
		return err
	}
	if stored != "" {
		id = stored
	}
	for _, name := range []string{"site_delete", "roots_delete", "filters_delete", "properties_delete",
		"urls_delete", "deleted_delete", "contents_delete", "attributes_delete", "freq_delete", "log_delete"} {
		if _, err := t.Do(name, id); err != nil {
			return err
		}
	}
	if immediate {
		_, err = t.Do("trash_put", id, "")
	}
	return err
}

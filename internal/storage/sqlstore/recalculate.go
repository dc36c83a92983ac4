package sqlstore

import (
	"context"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/wire"
)

// Recalculate recounts the counters of sites (docs/spec/storage.md 4.20), each site in its
// own transaction. The counters change only if another program wrote to the database.
// Statuses has the ids of the elements, then those that their criterions select.
// ErrorMessage names an unknown site. An invalid criterion is an error with its clause.
func (s *Store) Recalculate(ctx context.Context, list []wire.RecalcRequest) (wire.GeneralResponse, error) {
	answer := wire.GeneralResponse{Statuses: []any{}}
	sites, err := result(ctx, s.view, "Recalculate", func(t *tx) ([]recount, error) {
		var named, selected []recount
		for i, r := range list {
			if r.SiteID != "" {
				named = append(named, recount{r.SiteID, r.Partial})
			}
			if r.Criterion.Empty() {
				continue
			}
			ids, err := t.selectSites(elementName("FieldRecalculator", i)+".criterions", r.Criterion, expr.SQL{})
			if err != nil {
				return nil, err
			}
			for _, id := range ids {
				selected = append(selected, recount{id, r.Partial})
			}
		}
		return append(named, selected...), nil
	})
	if err != nil {
		return answer, err
	}
	for _, r := range sites {
		found, err := s.recalculate(ctx, r)
		if err != nil {
			return answer, err
		}
		if !found {
			reportFirst(&answer, unknownSite("FieldRecalculator", "siteId", r.site))
		}
		answer.Statuses = append(answer.Statuses, r.site)
	}
	return answer, nil
}

// recount is a site to recount.
type recount struct {
	site    string
	partial bool // without CollectedURLs
}

func (s *Store) recalculate(ctx context.Context, r recount) (found bool, err error) {
	return result(ctx, s.update, "Recalculate", func(t *tx) (bool, error) {
		site, err := t.storedID(r.site)
		if err != nil || site == "" {
			return false, err
		}
		if r.partial {
			return true, t.recount(site, "CollectedURLs")
		}
		return true, t.recount(site)
	})
}

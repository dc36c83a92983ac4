package sqlstore

import (
	"context"
	"fmt"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/wire"
)

// Recalculate counts the counters of sites anew (docs/spec/storage.md 4.20), each in a
// transaction of its own: they are exact before as after, unless somebody else
// wrote to the database. Statuses has the ids that the elements name, then those
// that their criterions select; an unknown site is named in ErrorMessage. A
// criterion that is refused is an error.
func (s *Store) Recalculate(ctx context.Context, list []wire.RecalcRequest) (wire.GeneralResponse, error) {
	answer := wire.GeneralResponse{Statuses: []any{}}
	var sites []recount
	err := s.view(ctx, "Recalculate", func(t *tx) error {
		sites = nil
		var added []recount
		for i, r := range list {
			if r.SiteID != "" {
				sites = append(sites, recount{r.SiteID, r.Partial})
			}
			if r.Criterion.Empty() {
				continue
			}
			ids, err := t.selectSites(fmt.Sprintf("FieldRecalculator[%d].criterions", i), r.Criterion, expr.SQL{})
			if err != nil {
				return err
			}
			for _, id := range ids {
				added = append(added, recount{id, r.Partial})
			}
		}
		sites = append(sites, added...)
		return nil
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
			complain(&answer, &wire.FieldError{Object: "FieldRecalculator", Field: "siteId", Value: clip(r.site), Reason: errNoSite.Error()})
		}
		answer.Statuses = append(answer.Statuses, r.site)
	}
	return answer, nil
}

// recount is one site to count.
type recount struct {
	site    string
	partial bool // but for CollectedURLs
}

func (s *Store) recalculate(ctx context.Context, r recount) (found bool, err error) {
	err = s.update(ctx, "Recalculate", func(t *tx) error {
		site, err := t.known(r.site)
		if found = site != ""; err != nil || !found {
			return err
		}
		if r.partial {
			return t.recount(site, "CollectedURLs")
		}
		return t.recount(site)
	})
	return found, err
}

package sites

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
)

// SiteTotals sums up all sites except "0" by category and state, in one scan of the sites. The
// list is not nil.
func (s *Store) SiteTotals(ctx context.Context) ([]wire.SiteTotal, error) {
	return tables.RunForResult(ctx, s.run.Read, "SiteTotals", func(t *Tx) ([]wire.SiteTotal, error) {
		var all []wire.SiteTotal
		err := t.All("site_totals", nil, func(scan func(...any) error) error {
			var one wire.SiteTotal
			err := scan(&one.Category, &one.State, &one.Sites, &one.New, &one.Crawling, &one.Crawled, &one.Processing)
			all = append(all, one)
			return err
		})
		return limitCategories(all), err
	})
}

// limitCategories moves the categories behind the first MostCategories to OtherCategories.
func limitCategories(all []wire.SiteTotal) []wire.SiteTotal {
	waiting := map[int64]int64{}
	for _, one := range all {
		waiting[one.Category] += one.New
	}
	order := slices.SortedFunc(maps.Keys(waiting), func(a, b int64) int {
		return cmp.Or(cmp.Compare(waiting[b], waiting[a]), cmp.Compare(a, b))
	})
	list, others := []wire.SiteTotal{}, map[int64]wire.SiteTotal{}
	for _, one := range all {
		if slices.Index(order, one.Category) < wire.MostCategories {
			list = append(list, one)
			continue
		}
		one.Category = wire.OtherCategories
		others[one.State] = one.Plus(others[one.State])
	}
	for _, state := range slices.Sorted(maps.Keys(others)) {
		list = append(list, others[state])
	}
	return list
}

package outcomes

import (
	"context"
	"encoding/json"
	"fmt"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
)

// heldPage bounds the links that one transaction takes out of links_held.
const heldPage = 1000

// QuotaSet applies orders, each in transactions of its own, and gives links that wait their rows or
// drops them. An unknown site is Gone. The reports are those after it.
func (s *Store) QuotaSet(ctx context.Context, r cluster.QuotaSetRequest) (cluster.QuotaReports, error) {
	answer := cluster.QuotaReports{Reports: []cluster.QuotaReport{}}
	for _, o := range r.Orders {
		for more := true; more; {
			var report cluster.QuotaReport
			var added int
			var err error
			if report, added, more, err = s.quotaSet(ctx, o); err != nil {
				return answer, err
			}
			answer.Added += added
			if !more {
				answer.Reports = append(answer.Reports, report)
			}
		}
	}
	return answer, nil
}

// quotaSet applies an order and moves a page of the links that wait. more says that others can follow.
func (s *Store) quotaSet(ctx context.Context, o cluster.QuotaOrder) (report cluster.QuotaReport, added int, more bool, err error) {
	now := s.db.Options.Now()
	var k receiving
	err = s.run.Update(ctx, "QuotaSet", func(t *tx) error {
		k = receiving{tx: t}
		site, err := t.StoredID(o.Site)
		if err != nil {
			return err
		}
		if site == "" {
			report, more = cluster.QuotaReport{Site: o.Site, Gone: true}, false
			return nil
		}
		if err := t.ApplyOrder(site, o); err != nil {
			return err
		}
		if more, err = k.releaseLinks(site); err != nil {
			return err
		}
		l, err := t.ReadLease(site)
		report = l.QuotaReport
		wanted := 0
		if more || report.AnyShort() {
			wanted = 1
		}
		if err == nil {
			_, err = t.Do("lease_wanted_set", wanted, site, wanted)
		}
		return err
	})
	if err != nil {
		return report, 0, false, err
	}
	for _, f := range k.done {
		f.rememberLinks(now)
	}
	return report, k.answer.New, more, nil
}

// releaseLinks stores links that wait, as far as there is room, and drops the rest if the lease is
// final. more says that others can follow.
func (k *receiving) releaseLinks(site string) (more bool, err error) {
	c, err := k.ReadCapacity(site)
	if err != nil {
		return false, err
	}
	most := heldPage
	if c.MayGrow() {
		most = min(most, c.RoomLeft())
	}
	var ids []int64
	var links []*wire.URL
	err = k.All("links_held_page", []any{site, most + 1}, func(scan func(...any) error) error {
		var id int64
		var text string
		if err := scan(&id, &text); err != nil {
			return err
		}
		var l cluster.LinkOut
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			return fmt.Errorf("read held link %d: %w", id, err)
		}
		ids, links = append(ids, id), append(links, (*wire.URL)(&l))
		return nil
	})
	if err != nil || most == 0 || len(ids) == 0 {
		return false, err
	}
	more = len(ids) > most
	ids, links = ids[:min(len(ids), most)], links[:min(len(ids), most)]
	if _, err := tables.ExecIn(k.tx.tableTx, ids, "DELETE FROM "+k.DB.Table(sqldb.Sites, "links_held")+" WHERE Id IN "); err != nil {
		return false, err
	}
	return more, k.storeSite(site, links)
}

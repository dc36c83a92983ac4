package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// SiteCleanup empties sites (docs/spec/storage.md 4.6). Statuses has 0 for each, or
// CodeNotFound; ErrorCode is that of the last. Root URLs that are kept begin
// anew: Status 1, State 0, counters 0 (docs/spec/DECISIONS.md 5.10). Delayed cleanup copies
// the rows that go to dc_urls_deleted; immediate cleanup leaves the files of the
// whole site to Trash.
func (s *Store) SiteCleanup(ctx context.Context, list []wire.SiteCleanupRequest) (wire.GeneralResponse, error) {
	var answer wire.GeneralResponse
	var texts []string
	err := s.update(ctx, "SiteCleanup", func(t *tx) error {
		answer, texts = wire.GeneralResponse{Statuses: []any{}}, nil
		for _, r := range list {
			id, err := t.known(r.ID)
			if err != nil {
				return err
			}
			code, text := wire.CodeOK, "OK"
			if id == "" {
				code, text = wire.CodeNotFound, fmt.Sprintf(">>> Site id [%s] not found", clip(r.ID))
			} else if err := t.cleanSite(id, r); err != nil {
				return err
			}
			answer.ErrorCode = code
			answer.Statuses = append(answer.Statuses, code)
			texts = append(texts, text)
		}
		return nil
	})
	answer.ErrorMessage = strings.Join(texts, "-")
	return answer, err
}

func (t *tx) cleanSite(id string, r wire.SiteCleanupRequest) error {
	going, remove := t.table(sqldb.URLs, id)+" WHERE Site_Id = ?", "urls_delete"
	if r.SaveRootURLs {
		going, remove = going+" AND ParentMd5 <> ''", "urls_delete_found"
	}
	stats, err := t.statistics(id)
	if err != nil {
		return err
	}
	if stats.freq && r.HistoryCleanUp < 2 {
		_, err := t.Exec("UPDATE "+t.table(sqldb.Freqs, id)+" SET FDeleted = FDeleted + 1, MDate = ? WHERE Site_Id = ? AND URLMd5 IN (SELECT URLMd5 FROM "+going+")", t.now, id, id)
		if err != nil {
			return err
		}
	}
	if r.DelayedType == wire.Delayed {
		columns := urlColumns + ", Attempts"
		_, err := t.Exec("INSERT INTO "+t.table(sqldb.Deleted, id)+" ("+columns+") SELECT "+columns+" FROM "+going, id)
		if err != nil {
			return err
		}
	} else if _, err := t.Do("trash_put", id, ""); err != nil {
		return err
	}
	steps := []string{remove, "attributes_delete"}
	if r.DelayedType != wire.Delayed {
		steps = append(steps, "contents_delete")
	}
	if r.HistoryCleanUp >= 1 {
		steps = append(steps, "log_delete")
	}
	if r.HistoryCleanUp >= 2 {
		steps = append(steps, "freq_delete")
	}
	for _, name := range steps {
		if _, err := t.Of(id).Do(name, id); err != nil {
			return err
		}
	}
	if _, err := t.Of(id).Do("urls_reset", t.now, id); err != nil {
		return err
	}
	if _, err := t.Do("site_cleaned", t.now, r.State, id); err != nil {
		return err
	}
	if r.MoveURLs {
		if err := t.copyRoots(id, true); err != nil {
			return err
		}
	}
	return t.recount(id)
}

// copyRoots puts the root URLs of sites_urls that are not there into the site's
// URLs: as they are, or fresh, which is ready to be crawled. SITE_UPDATE gives
// its root URLs Status 7 (docs/spec/objects.md 2.2), in which a site that begins anew would
// wait for its re-crawl.
func (t *tx) copyRoots(id string, fresh bool) error {
	roots, err := t.roots(id)
	if err != nil {
		return err
	}
	urls := make([]*wire.URL, len(roots))
	for i := range roots {
		urls[i] = &roots[i].URL
		if fresh {
			urls[i].Status, urls[i].Crawled, urls[i].Processed, urls[i].BatchID = wire.StatusNew, 0, 0, 0
		}
	}
	return t.addMissing(id, urls)
}

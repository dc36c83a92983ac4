package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// SiteCleanup removes the URLs of sites (docs/spec/storage.md 4.6). Statuses has 0 or
// CodeNotFound for each element; ErrorCode is the last of them. Root URLs that are kept
// become new: Status 1, State 0, counters 0 (docs/spec/DECISIONS.md 5.10). Delayed
// cleanup copies the removed rows to dc_urls_deleted. Immediate cleanup puts the files of
// the whole site in the trash.
func (s *Store) SiteCleanup(ctx context.Context, list []wire.SiteCleanupRequest) (wire.GeneralResponse, error) {
	return result(ctx, s.update, "SiteCleanup", func(t *tx) (wire.GeneralResponse, error) {
		answer := wire.GeneralResponse{Statuses: []any{}}
		var texts []string
		for _, r := range list {
			id, err := t.storedID(r.ID)
			if err != nil {
				return answer, err
			}
			code, text := wire.CodeOK, "OK"
			if id == "" {
				code, text = wire.CodeNotFound, fmt.Sprintf(">>> Site id [%s] not found", clip(r.ID))
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

func (t *tx) cleanSite(id string, r wire.SiteCleanupRequest) error {
	where, remove := " WHERE Site_Id = ?", "urls_delete"
	if r.SaveRootURLs {
		where, remove = where+" AND ParentMd5 <> ''", "urls_delete_found"
	}
	stats, err := t.statistics(id)
	if err != nil {
		return err
	}
	if stats.freq && r.HistoryCleanUp < 2 {
		_, err := t.Exec("UPDATE "+t.table(sqldb.Freqs, id)+" SET FDeleted = FDeleted + 1, MDate = ?"+ofKeys+
			"(SELECT URLMd5 FROM "+t.table(sqldb.URLs, id)+where+")", t.now, id, id)
		if err != nil {
			return err
		}
	}
	steps := []string{remove, "attributes_delete"}
	if r.DelayedType == wire.Delayed {
		_, err = t.Exec(t.copyToDeleted(id)+where, id)
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

// copyToDeleted begins a statement that copies rows of URLs to those that wait for
// URL_PURGE.
func (t *tx) copyToDeleted(site string) string {
	columns := urlColumns + ", Attempts"
	return "INSERT INTO " + t.table(sqldb.Deleted, site) + " (" + columns + ") SELECT " + columns + " FROM " + t.table(sqldb.URLs, site)
}

// copyRoots adds the missing root URLs of sites_urls to the site's URLs. With fresh they
// become new. SITE_UPDATE stores root URLs with Status 7 (docs/spec/objects.md 2.2), and
// a restarted site would wait for its re-crawl in this status.
func (t *tx) copyRoots(id string, fresh bool) error {
	roots, err := t.roots(id)
	if err != nil {
		return err
	}
	return t.addMissing(id, mapped(roots, func(root wire.SiteURL) *wire.URL {
		u := root.URL
		if fresh {
			u.Status, u.Crawled, u.Processed, u.BatchID = wire.StatusNew, 0, 0, 0
		}
		return &u
	}))
}

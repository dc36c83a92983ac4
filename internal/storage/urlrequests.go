package storage

import (
	"context"
	"encoding/json"
	"fmt"

	"hce/dc/internal/wire"
)

func (repo *Repository) urlNew(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := wire.ReadURLNew(raw, n)
	if err != nil {
		return nil, err
	}
	for i, r := range list {
		if err := r.Check(fmt.Sprintf("URLNew[%d]", i)); err != nil {
			return nil, err
		}
		if err := checkPut(fmt.Sprintf("URLNew[%d].urlPut", i), r.Put, r.Row.Text("URLMd5")); err != nil {
			return nil, err
		}
	}
	answer, keys, err := repo.URLNew(ctx, list)
	if err != nil {
		return nil, err
	}
	for i, r := range list {
		if r.Put == nil || keys[i].SiteID == "" {
			continue
		}
		if err := repo.put(ctx, fmt.Sprintf("URLNew[%d].urlPut", i), r.Put, keys[i].SiteID, keys[i].URLMd5); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

func (repo *Repository) urlUpdate(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := wire.ReadURLUpdate(raw, n)
	if err != nil {
		return nil, err
	}
	for i, r := range list {
		if err := r.Check(fmt.Sprintf("URLUpdate[%d]", i)); err != nil {
			return nil, err
		}
		if r.URLMd5 == "" {
			continue // a criterion selects many URLs: urlPut is ignored
		}
		if err := checkPut(fmt.Sprintf("URLUpdate[%d].urlPut", i), r.Put, r.URLMd5); err != nil {
			return nil, err
		}
	}
	answer, err := repo.URLUpdate(ctx, list)
	if err != nil {
		return nil, err
	}
	for i, r := range list {
		if r.Put == nil || r.URLMd5 == "" || answer.Statuses[i] != true {
			continue
		}
		if err := repo.put(ctx, fmt.Sprintf("URLUpdate[%d].urlPut", i), r.Put, r.SiteID, r.URLMd5); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

func (repo *Repository) urlFetch(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := checked("URLFetch", raw, n, wire.ReadURLFetch)
	if err != nil {
		return nil, err
	}
	urls, err := repo.fetch(ctx, "URLFetch", list)
	if err != nil {
		return nil, err
	}
	if len(list) == 1 && list[0].AsBatch > 0 {
		return plainAnswer{asBatch(list[0].AsBatch, urls)}, nil
	}
	return urls, nil
}

// fetch selects URLs. A siteUpdate may replace root URLs and so fill the trash.
func (repo *Repository) fetch(ctx context.Context, object string, list []wire.URLFetchRequest) ([]wire.URL, error) {
	roots := false
	for i := range list {
		l := &list[i].SiteLists
		if err := l.Normalize(fmt.Sprintf("%s[%d].siteUpdate", object, i), canonicalRoot); err != nil {
			return nil, err
		}
		roots = roots || l.URLs != nil
	}
	urls, err := repo.URLFetch(ctx, list)
	if err == nil && roots {
		err = repo.EmptyTrash(ctx)
	}
	return urls, err
}

// asBatch converts selected rows into the Batch that processor-task reads
// (docs/spec/daemon.md 2.12).
func asBatch(id int64, urls []wire.URL) wire.Batch {
	b := wire.Batch{ID: id, CrawlerType: wire.CrawlProcess, DBMode: wire.DBRead | wire.DBWrite, MaxIterations: 1}
	for _, u := range urls {
		u.ContentMask = 1
		b.Items = append(b.Items, wire.BatchItem{SiteID: u.SiteID, URLID: u.URLMd5, URL: u})
	}
	return b
}

func (repo *Repository) urlAge(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := wire.ReadURLAge(raw, n)
	if err != nil {
		return nil, err
	}
	return repo.URLAge(ctx, list)
}

func (repo *Repository) urlReturn(ctx context.Context, raw json.RawMessage, _ *wire.Notes) (any, error) {
	var r wire.URLReturnRequest
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("URLReturn: %w", err)
	}
	if err := r.Check("URLReturn"); err != nil {
		return nil, err
	}
	n, err := repo.URLReturn(ctx, r)
	if err != nil {
		return nil, err
	}
	return wire.GeneralResponse{Statuses: []any{n}}, nil
}

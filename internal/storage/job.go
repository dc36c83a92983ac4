package storage

import (
	"context"
	"encoding/json"
	"fmt"

	"hce/dc/internal/task"
	"hce/dc/internal/wire"
)

// Job answers operations: the pair [operation, object] with the pair
// [operation+100, answer], in the spelling that was asked (docs/spec/DECISIONS.md 1.2).
type Job struct {
	Repository *Repository
	// Critical tells the errors after which nothing that this process says can
	// be trusted: a broken database, a full disk, a missing permission.
	Critical func(error) bool
}

type handler func(repo *Repository, ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error)

var handlers = map[wire.Op]handler{
	wire.SiteNew:     (*Repository).siteNew,
	wire.SiteUpdate:  (*Repository).siteUpdate,
	wire.SiteStatus:  (*Repository).siteStatus,
	wire.SiteFind:    (*Repository).siteFind,
	wire.SiteDelete:  (*Repository).siteDelete,
	wire.SiteCleanup: (*Repository).siteCleanup,
	wire.URLNew:      (*Repository).urlNew,
	wire.URLStatus:   (*Repository).urlStatus,
	wire.URLUpdate:   (*Repository).urlUpdate,
	wire.URLFetch:    (*Repository).urlFetch,
	wire.URLContent:  (*Repository).urlContent,
	wire.URLDelete:   (*Repository).urlDelete,
	wire.URLCleanup:  (*Repository).urlCleanup,
	wire.URLPurge:    (*Repository).urlPurge,
	wire.URLAge:      (*Repository).urlAge,
	wire.URLPut:      (*Repository).urlPut,
	wire.URLVerify:   (*Repository).urlVerify,
	wire.URLHistory:  (*Repository).urlHistory,
	wire.URLStats:    (*Repository).urlStats,
	wire.FieldRecalc: (*Repository).fieldRecalc,
	wire.URLReturn:   (*Repository).urlReturn,
	wire.SiteRecrawl: (*Repository).siteRecrawl,

	wire.ProxyNew:        (*Repository).proxyNew,
	wire.ProxyUpdate:     (*Repository).proxyUpdate,
	wire.ProxyDelete:     (*Repository).proxyDelete,
	wire.ProxyStatus:     (*Repository).proxyStatus,
	wire.ProxyFind:       (*Repository).proxyFind,
	wire.AttributeSet:    (*Repository).attributeSet,
	wire.AttributeUpdate: (*Repository).attributeUpdate,
	wire.AttributeDelete: (*Repository).attributeDelete,
	wire.AttributeFetch:  (*Repository).attributeFetch,
	wire.SQLCustom:       (*Repository).sqlCustom,
}

// Run answers one request. A refusal is an answer; an error of the database or
// the disk is critical.
func (j Job) Run(ctx context.Context, request json.RawMessage) (any, error) {
	var call wire.Call
	if err := json.Unmarshal(request, &call); err != nil {
		return nil, err
	}
	do, ok := handlers[call.Op]
	if !ok {
		return call.Reply(wire.Refuse(fmt.Errorf("%s is not served yet", call.Op))), nil
	}
	notes := &wire.Notes{}
	answer, err := do(j.Repository, ctx, call.Object, notes)
	if len(notes.Unknown) > 0 {
		j.Repository.Log.Warn("unknown keys ignored", "op", call.Op.String(), "keys", notes.Unknown)
	}
	switch {
	case err == nil:
	case j.Critical != nil && j.Critical(err):
		return nil, task.Critical(fmt.Errorf("%s: %w", call.Op, err))
	default:
		j.Repository.Log.Info("refused", "op", call.Op.String(), "error", err)
		return call.Reply(wire.Refuse(err)), nil
	}
	if raw, ok := answer.(plainAnswer); ok {
		return raw.object, nil
	}
	return call.Reply(answer), nil
}

// ErrorAnswer is the answer to what is no request: the pair of no operation and
// the reason.
func ErrorAnswer(_ json.RawMessage, err error) any {
	return []any{nil, wire.Refuse(err)}
}

// plainAnswer is an answer that travels without the pair.
type plainAnswer struct{ object any }

func (repo *Repository) siteNew(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	r, err := wire.ReadSiteNew(raw, n)
	if err != nil {
		return nil, err
	}
	if err := r.Normalize(normalized); err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	// A site of this id that was deleted a moment ago must not take the files of
	// the new one along.
	if err := repo.EmptyTrash(ctx); err != nil {
		return nil, err
	}
	answer, err := repo.Store.SiteNew(ctx, r)
	if err != nil {
		return nil, err
	}
	if answer.ErrorCode != wire.CodeOK {
		return answer, nil
	}
	if err := repo.Contents.Create(ctx, r.ID); err != nil {
		if Critical(err) {
			return nil, err
		}
		// The site stands, and its first content makes the place.
		repo.Log.Warn("no place for processed contents yet", "site", r.ID, "error", err)
	}
	return answer, nil
}

func (repo *Repository) siteStatus(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	r, err := wire.ReadSiteStatus(raw, n)
	if err != nil {
		return nil, err
	}
	if err := wire.CheckSiteID("SiteStatus", "id", r.ID); err != nil {
		return nil, err
	}
	return repo.Store.SiteStatus(ctx, r)
}

func (repo *Repository) siteFind(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	r, err := wire.ReadSiteFind(raw, n)
	if err != nil {
		return nil, err
	}
	return repo.Store.SiteFind(ctx, r)
}

func (repo *Repository) siteDelete(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := wire.ReadSiteDelete(raw, n)
	if err != nil {
		return nil, err
	}
	for i, r := range list {
		if r.ID == "" {
			continue
		}
		if err := wire.CheckSiteID(fmt.Sprintf("SiteDelete[%d]", i), "id", r.ID); err != nil {
			return nil, err
		}
	}
	answer, err := repo.Store.SiteDelete(ctx, list)
	if err != nil {
		return nil, err
	}
	return answer, repo.EmptyTrash(ctx)
}

func (repo *Repository) siteCleanup(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := wire.ReadSiteCleanup(raw, n)
	if err != nil {
		return nil, err
	}
	for i, r := range list {
		if err := wire.CheckSiteID(fmt.Sprintf("SiteCleanup[%d]", i), "id", r.ID); err != nil {
			return nil, err
		}
	}
	answer, err := repo.Store.SiteCleanup(ctx, list)
	if err != nil {
		return nil, err
	}
	return answer, repo.EmptyTrash(ctx)
}

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
	answer, keys, err := repo.Store.URLNew(ctx, list)
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

func (repo *Repository) urlStatus(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := wire.ReadURLStatus(raw, n)
	if err != nil {
		return nil, err
	}
	for i, r := range list {
		if err := r.Check(fmt.Sprintf("URLStatus[%d]", i)); err != nil {
			return nil, err
		}
	}
	return repo.Store.URLStatus(ctx, list)
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
			continue // chosen by a criterion: its urlPut has no one URL
		}
		if err := checkPut(fmt.Sprintf("URLUpdate[%d].urlPut", i), r.Put, r.URLMd5); err != nil {
			return nil, err
		}
	}
	answer, err := repo.Store.URLUpdate(ctx, list)
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
	list, err := wire.ReadURLFetch(raw, n)
	if err != nil {
		return nil, err
	}
	for i, r := range list {
		if err := r.Check(fmt.Sprintf("URLFetch[%d]", i)); err != nil {
			return nil, err
		}
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

// asBatch makes the Batch that processor-task reads of the rows selected for it
// (docs/spec/daemon.md 2.12).
func asBatch(id int64, urls []wire.URL) wire.Batch {
	b := wire.Batch{ID: id, CrawlerType: wire.CrawlProcess, DBMode: wire.DBRead | wire.DBWrite, MaxIterations: 1}
	for _, u := range urls {
		u.ContentMask = 1
		b.Items = append(b.Items, wire.BatchItem{SiteID: u.SiteID, URLID: u.URLMd5, URL: u})
	}
	return b
}

func (repo *Repository) urlReturn(ctx context.Context, raw json.RawMessage, _ *wire.Notes) (any, error) {
	var r wire.URLReturnRequest
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("URLReturn: %w", err)
	}
	if err := r.Check("URLReturn"); err != nil {
		return nil, err
	}
	n, err := repo.Store.URLReturn(ctx, r)
	if err != nil {
		return nil, err
	}
	return wire.GeneralResponse{Statuses: []any{n}}, nil
}

package storage

import (
	"context"
	"encoding/json"
	"fmt"

	"hce/dc/internal/task"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
	"hce/dc/internal/wire/lenient"
)

// Job answers operations: the pair [operation, object] with the pair
// [operation+100, answer], in the spelling of the request (docs/spec/DECISIONS.md 1.2).
type Job struct{ Repository *Repository }

// handler answers the object of one operation. It notes unknown keys in n.
type handler func(repo *Repository, ctx context.Context, raw json.RawMessage, n *lenient.Notes) (any, error)

var handlers = map[wire.Op]handler{
	wire.SiteNew:     newHandler(wire.ReadSiteNew, (*Repository).siteNew),
	wire.SiteUpdate:  emptyingTrash(newHandler(wire.ReadSiteUpdate, (*Repository).siteUpdate)),
	wire.SiteStatus:  newHandler(wire.ReadSiteStatus, (*Repository).siteStatus),
	wire.SiteFind:    newHandler(wire.ReadSiteFind, (*Repository).SiteFind),
	wire.SiteDelete:  emptyingTrash(onList("SiteDelete", wire.ReadSiteDelete, (*Repository).SiteDelete)),
	wire.SiteCleanup: emptyingTrash(onList("SiteCleanup", wire.ReadSiteCleanup, (*Repository).SiteCleanup)),
	wire.SiteRecrawl: newHandler(wire.ReadSiteRecrawl, (*Repository).siteRecrawl),
	wire.SiteTotals: func(repo *Repository, ctx context.Context, _ json.RawMessage, _ *lenient.Notes) (any, error) {
		return repo.SiteTotals(ctx)
	},

	wire.URLNew:      onList("URLNew", wire.ReadURLNew, (*Repository).urlNew),
	wire.URLStatus:   onList("URLStatus", wire.ReadURLStatus, (*Repository).URLStatus),
	wire.URLUpdate:   onList("URLUpdate", wire.ReadURLUpdate, (*Repository).urlUpdate),
	wire.URLFetch:    onList("URLFetch", wire.ReadURLFetch, (*Repository).urlFetch),
	wire.URLContent:  onList("URLContentObject", wire.ReadURLContent, (*Repository).urlContent),
	wire.URLDelete:   emptyingTrash(newHandler(wire.ReadURLDelete, (*Repository).URLDelete)),
	wire.URLCleanup:  emptyingTrash(newHandler(wire.ReadURLCleanup, (*Repository).URLCleanup)),
	wire.URLPurge:    compactAfter(emptyingTrash(onList("URLPurge", wire.ReadURLPurge, (*Repository).URLPurge))),
	wire.URLAge:      emptyingTrash(newHandler(wire.ReadURLAge, (*Repository).URLAge)),
	wire.URLPut:      onList("URLPutObj", wire.ReadURLPut, (*Repository).urlPut),
	wire.URLVerify:   onList("URLVerify", wire.ReadURLVerify, (*Repository).URLVerify),
	wire.URLHistory:  onList("URLHistoryRequest", wire.ReadURLHistory, (*Repository).URLHistory),
	wire.URLStats:    onList("URLStatsRequest", wire.ReadURLStats, (*Repository).URLStats),
	wire.FieldRecalc: onList("FieldRecalculator", wire.ReadRecalc, (*Repository).Recalculate),
	wire.URLReturn:   newHandler(readPlain[wire.URLReturnRequest]("URLReturn"), (*Repository).urlReturn),

	wire.LinksTake:  newHandler(readPlain[cluster.LinksTakeRequest]("LinksTake"), (*Repository).LinksTake),
	wire.LinksSent:  newHandler(readPlain[cluster.LinksSentRequest]("LinksSent"), (*Repository).linksSent),
	wire.LinksStore: newHandler(readPlain[cluster.LinksStoreRequest]("LinksStore"), (*Repository).linksStore),

	wire.HostsPack:   newHandler(readPlain[cluster.HostsPackRequest]("HostsPack"), (*Repository).HostsPack),
	wire.HostsUnpack: newHandler(readPlain[cluster.HostsUnpackRequest]("HostsUnpack"), (*Repository).HostsUnpack),
	wire.HostsDrop:   emptyingTrash(newHandler(readPlain[cluster.HostsPackRequest]("HostsDrop"), (*Repository).HostsDrop)),
	wire.HostsState:  newHandler(readPlain[cluster.HostsStateRequest]("HostsState"), (*Repository).HostsState),
	wire.HostsAdopt:  newHandler(readPlain[cluster.HostsAdoptRequest]("HostsAdopt"), (*Repository).HostsAdopt),

	wire.QuotaRead: newHandler(readPlain[cluster.QuotaReadRequest]("QuotaRead"), (*Repository).QuotaRead),
	wire.QuotaSet:  newHandler(readPlain[cluster.QuotaSetRequest]("QuotaSet"), (*Repository).QuotaSet),

	wire.ProxyNew:        onNamedList("ProxyNew", wire.ReadProxies, (*Repository).ProxyNew),
	wire.ProxyUpdate:     onNamedList("ProxyUpdate", wire.ReadProxies, (*Repository).ProxyUpdate),
	wire.ProxyDelete:     onNamedList("ProxyDelete", wire.ReadProxySelections, (*Repository).ProxyDelete),
	wire.ProxyStatus:     onNamedList("ProxyStatus", wire.ReadProxySelections, (*Repository).ProxyStatus),
	wire.ProxyFind:       onNamedList("ProxyFind", wire.ReadProxyFind, (*Repository).ProxyFind),
	wire.AttributeSet:    onNamedList("AttributeSet", wire.ReadAttributes, (*Repository).AttributeSet),
	wire.AttributeUpdate: onNamedList("AttributeUpdate", wire.ReadAttributes, (*Repository).AttributeUpdate),
	wire.AttributeDelete: onNamedList("AttributeDelete", wire.ReadAttributeSelections, (*Repository).AttributeDelete),
	wire.AttributeFetch:  onNamedList("AttributeFetch", wire.ReadAttributeSelections, (*Repository).AttributeFetch),
	wire.SQLCustom:       newHandler(wire.ReadCustom, (*Repository).sqlCustom),
}

// Run answers one request. A refusal is an answer; an error that Critical reports is
// returned as task.Critical.
func (j Job) Run(ctx context.Context, request json.RawMessage) (any, error) {
	var call wire.Call
	if err := json.Unmarshal(request, &call); err != nil {
		return nil, err
	}
	do, ok := handlers[call.Op]
	if !ok {
		return call.Reply(wire.Refuse(fmt.Errorf("%s is not served yet", call.Op))), nil
	}
	notes := &lenient.Notes{}
	answer, err := do(j.Repository, ctx, call.Object, notes)
	if len(notes.Unknown) > 0 {
		j.Repository.Log.Warn("unknown keys ignored", "op", call.Op.String(), "keys", notes.Unknown)
	}
	if len(notes.Ignored) > 0 {
		j.Repository.Log.Warn("parts of a request have no effect", "op", call.Op.String(), "parts", notes.Ignored)
	}
	switch {
	case err == nil:
	case Critical(err):
		return nil, task.Critical(fmt.Errorf("%s: %w", call.Op, err))
	default:
		j.Repository.Log.Info("request refused", "op", call.Op.String(), "error", err)
		return call.Reply(wire.Refuse(err)), nil
	}
	if plain, ok := answer.(plainAnswer); ok {
		return plain.object, nil
	}
	return call.Reply(answer), nil
}

// ErrorAnswer is the reply to unparsable input: the pair of null and the reason.
func ErrorAnswer(_ json.RawMessage, err error) any {
	return []any{nil, wire.Refuse(err)}
}

// plainAnswer is an answer that travels without the pair.
type plainAnswer struct{ object any }

// newHandler is a handler that reads an object and passes it to do.
func newHandler[R, A any](read func(json.RawMessage, *lenient.Notes) (R, error), do func(*Repository, context.Context, R) (A, error)) handler {
	return func(repo *Repository, ctx context.Context, raw json.RawMessage, n *lenient.Notes) (any, error) {
		r, err := read(raw, n)
		if err != nil {
			return nil, err
		}
		return do(repo, ctx, r)
	}
}

// checker is an element of a list that can check itself. Errors call it by object.
type checker interface{ Check(object string) error }

// onList is on for a list: it also checks each element.
func onList[E checker, A any](object string, read func(json.RawMessage, *lenient.Notes) ([]E, error), do func(*Repository, context.Context, []E) (A, error)) handler {
	return newHandler(func(raw json.RawMessage, n *lenient.Notes) ([]E, error) {
		list, err := read(raw, n)
		for i := 0; i < len(list) && err == nil; i++ {
			err = list[i].Check(fmt.Sprintf("%s[%d]", object, i))
		}
		return list, err
	}, do)
}

// onNamedList is onList for a reader that several operations share.
func onNamedList[E checker, A any](object string, read func(string, json.RawMessage, *lenient.Notes) ([]E, error), do func(*Repository, context.Context, []E) (A, error)) handler {
	return onList(object, func(raw json.RawMessage, n *lenient.Notes) ([]E, error) { return read(object, raw, n) }, do)
}

// emptyingTrash empties the trash after do, also after an error of a later step of do.
func emptyingTrash(do handler) handler {
	return func(repo *Repository, ctx context.Context, raw json.RawMessage, n *lenient.Notes) (any, error) {
		answer, err := do(repo, ctx, raw, n)
		if e := repo.EmptyTrash(ctx); err == nil {
			err = e
		}
		if err != nil {
			return nil, err
		}
		return answer, nil
	}
}

package main

import (
	"context"
	"encoding/json"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/strict"
	"hce/dc/internal/config"
	"hce/dc/internal/wire"
)

// sendStrict sends a checked request with --strict. The outcome has an error unless everything in the
// answer succeeded.
func sendStrict(ctx context.Context, call client.Call) client.Outcome {
	lookup := func(id string) (known bool, near string) { return findSite(ctx, call.Server, id) }
	ask := func(op wire.Op, request, answer any) error { return call.Server.Ask(ctx, op, request, answer) }
	if problems := strict.Unknown(call.Op, call.Object, lookup, ask); len(problems) > 0 {
		return client.RefusedRequest.Outcome(strict.Error(problems).Error())
	}
	out := call.Do(ctx)
	answer, answered := out.JSON.(json.RawMessage)
	if !answered {
		return out
	}
	verdict := strict.Answer(call.Op, call.Object, answer, lookup)
	if len(verdict.Problems) == 0 {
		return out
	}
	return out.With(verdict.Status(), strict.Error(verdict.Problems).Error())
}

const mostSites = 1000 // that are searched for the nearest id

// findSite reports whether a site exists, and else the nearest id. Without an answer it is known: the
// answer to the request itself says what is wrong.
func findSite(ctx context.Context, server client.Server, id string) (known bool, near string) {
	if id == wire.GeneralSite || !wire.ValidSiteID(id) {
		return true, ""
	}
	find := func(where string, most int) (ids []string, err error) {
		var sites []wire.Site
		err = server.Ask(ctx, wire.SiteFind, map[string]any{
			"url": nil, "excludeList": []string{"urls", "filters", "properties"}, "criterions": map[string]any{"WHERE": where, "LIMIT": most},
		}, &sites)
		for _, site := range sites {
			ids = append(ids, site.ID)
		}
		return ids, err
	}
	if found, err := find("`Id`='"+id+"'", 1); err != nil || len(found) > 0 {
		return true, ""
	}
	ids, _ := find("1=1", mostSites) // only a hint
	return false, config.Nearest(id, ids)
}

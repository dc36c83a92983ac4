package engine

import (
	"context"
	"encoding/json"
	"slices"

	"hce/dc/internal/wire"
)

// RenewDue lets URLs of a site be fetched again if its recrawl date has passed, as a daemon does with the settings of dc-daemon.ini
// (docs/spec/daemon.md 2.14): the root URLs, or those of the property RECRAWL_WHERE. It writes the next date, and reports
// whether the site was due. After a kill in the middle the next call goes on.
func (e *Engine) RenewDue(ctx context.Context, site string) (bool, error) {
	due, since, err := e.lockDue(ctx, site)
	if err != nil || due == nil {
		return false, err
	}
	where := due.Rules.Where
	if where == "" {
		where = wire.RecrawlURLs
	}
	renew := []any{map[string]any{
		"siteId": site, "status": wire.StatusNew, "state": wire.URLEnabled,
		"criterions": map[string]any{"WHERE": "(" + where + ")" + since, "LIMIT": nil},
	}}
	if err := e.Ask(ctx, wire.URLUpdate, renew, nil); err != nil {
		return false, err
	}
	unlock := wire.SiteRecrawlRequest{Step: wire.RecrawlEnd, Sites: []string{site}, Max: 1, DateExpression: wire.NextRecrawl}
	return true, e.runStep(ctx, unlock, nil)
}

// runStep runs a step of SITE_RECRAWL, which is no operation of clients.
func (e *Engine) runStep(ctx context.Context, r wire.SiteRecrawlRequest, answer any) error {
	object, err := json.Marshal(r)
	if err != nil {
		return err
	}
	call, err := json.Marshal(wire.Call{Op: wire.SiteRecrawl, ByName: true, Object: object})
	if err != nil {
		return err
	}
	return e.runCall(ctx, wire.SiteRecrawl, call, answer)
}

// lockDue locks a site whose recrawl date has passed; nil: it is not due. since excludes the rows that a killed process
// may have renewed.
func (e *Engine) lockDue(ctx context.Context, site string) (due *wire.RecrawlSite, since string, err error) {
	var locked []wire.RecrawlSite
	err = e.runStep(ctx, wire.SiteRecrawlRequest{Step: wire.RecrawlResume, Max: wire.MostRecrawl}, &locked)
	if i := slices.IndexFunc(locked, func(s wire.RecrawlSite) bool { return s.ID == site }); err == nil && i >= 0 {
		if _, known := locked[i].Since.Time(); known {
			since = " AND (`TcDate` IS NULL OR `TcDate`<='" + string(locked[i].Since) + "')"
		}
		return &locked[i], since, nil
	}
	if err != nil {
		return nil, "", err
	}
	begin := wire.SiteRecrawlRequest{
		Step: wire.RecrawlBegin, Max: 1, DateExpression: wire.NextRecrawl,
		Criterion: wire.Criterion{Where: "`Id`=" + wire.QuotedSQL(site) + " AND " + wire.DueRecrawl},
	}
	if err = e.runStep(ctx, begin, &locked); err != nil || len(locked) == 0 {
		return nil, "", err
	}
	return &locked[0], "", nil
}

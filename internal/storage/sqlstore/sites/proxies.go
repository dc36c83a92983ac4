package sites

import (
	"context"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
)

// ProxyNew inserts proxies (docs/spec/storage.md 4.22). Statuses has 0 inserted, 1 failed
// or 2 exists for each; ErrorMessage has the first reason. The site may be unknown.
func (s *Store) ProxyNew(ctx context.Context, list []wire.ProxyRequest) (wire.GeneralResponse, error) {
	return tables.ChangeEach(ctx, s.run.Update, "ProxyNew", list, tables.StatusFailed, (*Tx).newProxy)
}

// ProxiesTable is the quoted name of the table of proxies.
func (t *Tx) ProxiesTable() string { return t.PlainTable(tables.ProxiesInfo) }

func (t *Tx) proxyScope(site string) expr.Scope {
	return t.ScopeFor(site, tables.ProxiesInfo.ExprTable(""))
}

// ProxyTarget is the table of proxies, for a proxy of a site.
func (t *Tx) ProxyTarget(object, site string) tables.Target {
	return tables.Target{Object: object, Key: []string{"Site_Id", "Host"}, Table: t.ProxiesTable(), Columns: wire.ProxyColumns, Scope: t.proxyScope(site)}
}

func (t *Tx) newProxy(object string, r wire.ProxyRequest) (status int, err error) {
	row := tables.ClonePatch(r.Row)
	row["Site_Id"], row["Host"] = r.SiteID, r.Host
	if _, given := row["UDate"]; !given {
		row["UDate"] = t.Now
	}
	inserted, err := t.InsertRow(t.ProxyTarget(object, r.SiteID), row)
	switch {
	case err != nil:
		return tables.StatusFailed, err
	case !inserted:
		return tables.StatusExists, nil
	}
	return tables.StatusInserted, nil
}

// ProxyUpdate changes the given columns of proxies, except CDate (docs/spec/storage.md
// 4.22). Statuses has true for each element with a column, even for a missing proxy. It
// has false for an element without columns and for a refused one; ErrorMessage has the
// first reason.
func (s *Store) ProxyUpdate(ctx context.Context, list []wire.ProxyRequest) (wire.GeneralResponse, error) {
	return tables.ChangeEach(ctx, s.run.Update, "ProxyUpdate", list, false, (*Tx).updateProxy)
}

func (t *Tx) updateProxy(object string, r wire.ProxyRequest) (written bool, err error) {
	set := tables.ClonePatch(r.Row)
	delete(set, "CDate")
	if len(set) == 0 {
		return false, nil
	}
	if r.Undated {
		set["UDate"] = t.Now
	}
	_, err = t.UpdateRows(t.ProxyTarget(object, r.SiteID), set, nil, "Site_Id = ? AND Host = ?", r.SiteID, r.Host)
	return true, err
}

// ProxyDelete deletes the proxy of a site and host, or the proxies of a site, a host or
// any that a criterion selects (docs/spec/storage.md 4.22). Statuses has true for each
// proxy, also for a missing proxy with site and host. An element may select no proxy and
// add no status, so an invalid criterion is an error with its clause.
func (s *Store) ProxyDelete(ctx context.Context, list []wire.ProxySelection) (wire.GeneralResponse, error) {
	return tables.RunForResult(ctx, s.run.Update, "ProxyDelete", func(t *Tx) (wire.GeneralResponse, error) {
		answer := wire.GeneralResponse{Statuses: []any{}}
		for i, r := range list {
			found, err := t.selectProxies(tables.ElementName("ProxyDelete", i), r, ofProxy(r.SiteID, r.Host))
			if err != nil {
				return answer, err
			}
			ids := tables.MapSlice(found, func(p wire.Proxy) int64 { return p.ID })
			if _, err := tables.ExecIn(t.tableTx, ids, "DELETE FROM "+t.ProxiesTable()+" WHERE Id IN "); err != nil {
				return answer, err
			}
			n := len(found)
			if r.SiteID != nil && r.Host != nil {
				n = 1
			}
			for range n {
				answer.Statuses = append(answer.Statuses, true)
			}
		}
		return answer, nil
	})
}

// ofProxy are the conditions of a site and a host. Nil adds no condition.
func ofProxy(site, host *string) (conditions []expr.SQL) {
	if site != nil {
		conditions = append(conditions, tables.OfSite(*site))
	}
	if host != nil {
		conditions = append(conditions, expr.SQL{Text: "(Host = ?)", Args: []any{*host}})
	}
	return conditions
}

// selectProxies reads the proxy of a site and host, or else the proxies that match the
// criterion and the conditions. An empty criterion selects none.
func (t *Tx) selectProxies(object string, r wire.ProxySelection, conditions []expr.SQL) ([]wire.Proxy, error) {
	object += ".criterions"
	switch {
	case r.SiteID != nil && r.Host != nil:
		return t.readProxies(object, *r.SiteID, wire.Criterion{}, ofProxy(r.SiteID, r.Host))
	case r.Criterion.Empty():
		return nil, nil
	}
	return t.readProxies(object, tables.OrEmpty(r.SiteID), r.Criterion, conditions)
}

// readProxies reads the proxies that match a criterion and conditions, in the order of
// the criterion or else of their Id. Site is the site of the request, or "".
func (t *Tx) readProxies(object, site string, c wire.Criterion, conditions []expr.SQL) (list []wire.Proxy, err error) {
	p, err := t.BuildClauses(object, t.proxyScope(site), c)
	if err != nil {
		return nil, err
	}
	p.OrderOr("Id")
	text, args := p.BuildQuery("SELECT "+tables.ColumnList(wire.ProxyColumns)+" FROM "+t.ProxiesTable(), conditions...)
	err = t.Each(text, args, tables.AppendTo(&list, tables.FieldsOf[wire.Proxy](wire.ProxyColumns)))
	return list, err
}

// ProxyStatus reads the proxy of a site and host, or the proxies that a criterion selects
// among all (docs/spec/storage.md 4.22). It skips missing proxies. An invalid criterion
// is an error with its clause.
func (s *Store) ProxyStatus(ctx context.Context, list []wire.ProxySelection) ([]wire.Proxy, error) {
	return tables.ReadAll(ctx, s.run.Read, "ProxyStatus", list, func(t *Tx, object string, r wire.ProxySelection) ([]wire.Proxy, error) {
		return t.selectProxies(object, r, nil)
	})
}

// ProxyFind reads the proxies that a criterion selects: of a site, of each site that a
// criterion on sites selects, or of any site (docs/spec/storage.md 4.22). LIMIT applies to
// each site. Without a site and a clause it reads none. An invalid criterion is an error
// with its clause.
func (s *Store) ProxyFind(ctx context.Context, list []wire.ProxyFindRequest) ([]wire.Proxy, error) {
	return tables.ReadAll(ctx, s.run.Read, "ProxyFind", list, (*Tx).findProxies)
}

func (t *Tx) findProxies(object string, r wire.ProxyFindRequest) ([]wire.Proxy, error) {
	var sites []string
	switch {
	case r.SiteID != nil:
		sites = []string{*r.SiteID}
	case !r.SiteCriterion.Empty() || r.SiteCriterion.Tables != "":
		var err error
		if sites, err = t.SelectSites(object+".siteCriterions", r.SiteCriterion, expr.SQL{}); err != nil {
			return nil, err
		}
	case r.Criterion.Empty():
		return nil, nil
	default:
		return t.readProxies(object+".criterions", "", r.Criterion, nil)
	}
	var list []wire.Proxy
	for _, site := range sites {
		found, err := t.readProxies(object+".criterions", site, r.Criterion, []expr.SQL{tables.OfSite(site)})
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// MaxProxies is the number of stored proxies that a crawl uses (docs/spec/crawling.md
// 4.10).
const MaxProxies = 50

// Proxies reads the enabled proxies of a site and of any site, at most 50. The lowest
// Priority comes first, the site's own before others. The list is not nil.
func (s *Store) Proxies(ctx context.Context, site string) ([]wire.Proxy, error) {
	return tables.RunForResult(ctx, s.run.Read, "Proxies", func(t *Tx) ([]wire.Proxy, error) {
		list := []wire.Proxy{}
		err := t.Each("SELECT "+tables.ColumnList(wire.ProxyColumns)+" FROM "+t.ProxiesTable()+
			" WHERE Site_Id IN (?, ?, ?) AND State = 1 ORDER BY Priority, CASE WHEN Site_Id = ? THEN 0 ELSE 1 END, Id LIMIT ?",
			[]any{site, wire.AnySite, wire.GeneralSite, site, MaxProxies}, tables.AppendTo(&list, tables.FieldsOf[wire.Proxy](wire.ProxyColumns)))
		return list, err
	})
}

// ProxyFault counts a fault of a proxy of Proxies. It disables the proxy if disabled
// is true or FaultsMax is reached. A missing proxy is no error.
func (s *Store) ProxyFault(ctx context.Context, site, host string, disabled bool) error {
	return s.run.Update(ctx, "ProxyFault", func(t *Tx) error {
		// State comes first: MySQL evaluates it before it changes Faults.
		text := "UPDATE " + t.ProxiesTable() + " SET State = CASE WHEN ? OR (FaultsMax > 0 AND Faults + 1 >= FaultsMax) THEN 0 ELSE State END, " +
			"Faults = CASE WHEN Faults < 4294967295 THEN Faults + 1 ELSE Faults END, UDate = ? WHERE Site_Id IN (?, ?, ?) AND Host = ?"
		_, err := t.Exec(text, disabled, t.Now, site, wire.AnySite, wire.GeneralSite, host)
		return err
	})
}

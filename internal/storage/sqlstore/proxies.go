package sqlstore

import (
	"context"
	"fmt"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// Statuses of one element of PROXY_NEW (docs/spec/storage.md 4.22).
const (
	proxyInserted = 0
	proxyFailed   = 1
	proxyExists   = 2
)

// ProxyNew inserts proxies (docs/spec/storage.md 4.22). Statuses has 0 inserted, 1 failed, 2
// exists for each; the first reason stands in ErrorMessage. The site need not be
// known.
func (s *Store) ProxyNew(ctx context.Context, list []wire.ProxyRequest) (wire.GeneralResponse, error) {
	return changeEach(ctx, s, "ProxyNew", list, proxyFailed, (*tx).newProxy)
}

func (t *tx) proxyTarget(object, site string) target {
	return target{object: object, key: []string{"Site_Id", "Host"}, table: t.DB.Table(sqldb.Sites, "sites_proxy"), columns: wire.ProxyColumns, scope: t.proxyScope(site)}
}

func (t *tx) newProxy(object string, r wire.ProxyRequest) (status int, err error) {
	row := clone(r.Row)
	row["Site_Id"], row["Host"] = r.SiteID, r.Host
	if _, given := row["UDate"]; !given {
		row["UDate"] = t.now
	}
	inserted, err := t.insert(t.proxyTarget(object, r.SiteID), row)
	switch {
	case err != nil:
		return proxyFailed, err
	case !inserted:
		return proxyExists, nil
	}
	return proxyInserted, nil
}

// ProxyUpdate changes the columns that a request gives, and no other; CDate
// stays (docs/spec/storage.md 4.22). Statuses has true for each element that had something to
// write, whether there is such a proxy or not, and false for one without, and
// for one that is refused, whose reason stands in ErrorMessage.
func (s *Store) ProxyUpdate(ctx context.Context, list []wire.ProxyRequest) (wire.GeneralResponse, error) {
	return changeEach(ctx, s, "ProxyUpdate", list, false, (*tx).updateProxy)
}

func (t *tx) updateProxy(object string, r wire.ProxyRequest) (written bool, err error) {
	set := clone(r.Row)
	delete(set, "CDate")
	if len(set) == 0 {
		return false, nil
	}
	if r.Undated {
		set["UDate"] = t.now
	}
	_, err = t.set(t.proxyTarget(object, r.SiteID), set, nil, "Site_Id = ? AND Host = ?", r.SiteID, r.Host)
	return true, err
}

// ProxyDelete deletes the proxy of a site and host, or those that a criterion
// selects among the ones of the site or host that is given (docs/spec/storage.md 4.22).
// Statuses has true for each proxy, also for a named one that is not there. As it
// has none for an element that selects nothing, a criterion that is refused is an
// error that names its clause.
func (s *Store) ProxyDelete(ctx context.Context, list []wire.ProxySelection) (wire.GeneralResponse, error) {
	var answer wire.GeneralResponse
	err := s.update(ctx, "ProxyDelete", func(t *tx) error {
		answer = wire.GeneralResponse{Statuses: []any{}}
		for i, r := range list {
			found, err := t.chosenProxies(fmt.Sprintf("ProxyDelete[%d].criterions", i), r, ofProxy(r.SiteID, r.Host))
			if err != nil {
				return err
			}
			if err := t.deleteProxies(found); err != nil {
				return err
			}
			n := len(found)
			if r.SiteID != nil && r.Host != nil {
				n = 1
			}
			for range n {
				answer.Statuses = append(answer.Statuses, true)
			}
		}
		return nil
	})
	return answer, err
}

func (t *tx) deleteProxies(list []wire.Proxy) error {
	ids := make([]int64, len(list))
	for i, p := range list {
		ids[i] = p.ID
	}
	return chunks(ids, func(in string, args []any) error {
		_, err := t.Exec("DELETE FROM "+t.DB.Table(sqldb.Sites, "sites_proxy")+" WHERE Id IN ("+in+")", args...)
		return err
	})
}

// ofProxy are the conditions of a site and a host, as far as they are given.
func ofProxy(site, host *string) (own []expr.SQL) {
	if site != nil {
		own = append(own, ofSite(*site))
	}
	if host != nil {
		own = append(own, expr.SQL{Text: "(Host = ?)", Args: []any{*host}})
	}
	return own
}

// chosenProxies reads the rows that a request selects: that of site and host,
// else those of the criterion and our own conditions. An empty criterion selects
// none.
func (t *tx) chosenProxies(object string, r wire.ProxySelection, own []expr.SQL) ([]wire.Proxy, error) {
	switch {
	case r.SiteID != nil && r.Host != nil:
		return t.proxies(object, *r.SiteID, wire.Criterion{}, ofProxy(r.SiteID, r.Host))
	case r.Criterion.Empty():
		return nil, nil
	}
	site := ""
	if r.SiteID != nil {
		site = *r.SiteID
	}
	return t.proxies(object, site, r.Criterion, own)
}

// proxies reads the rows of a criterion and our own conditions, in the
// criterion's order, else in that of their coming. Site is the one that the
// request is about, or "".
func (t *tx) proxies(object, site string, c wire.Criterion, own []expr.SQL) ([]wire.Proxy, error) {
	p, err := t.clauses(object, t.proxyScope(site), c)
	if err != nil {
		return nil, err
	}
	if p.order.Text == "" {
		p.order.Text = "Id"
	}
	var s statement
	s.add("SELECT " + proxyColumns + " FROM " + t.DB.Table(sqldb.Sites, "sites_proxy"))
	s.where(append(own, p.where)...)
	s.order(p.order)
	s.limit(p.limit)
	var list []wire.Proxy
	err = t.Each(s.text.String(), s.args, func(scan func(...any) error) error {
		var row wire.Proxy
		err := scan(wire.Targets(&row, wire.ProxyColumns)...)
		list = append(list, row)
		return err
	})
	return list, err
}

// ProxyStatus reads the proxy of a site and host, or those that a criterion
// selects, of whatever site and host they are (docs/spec/storage.md 4.22). What is not there
// adds nothing. A criterion that is refused is an error that names its clause.
func (s *Store) ProxyStatus(ctx context.Context, list []wire.ProxySelection) ([]wire.Proxy, error) {
	proxies := []wire.Proxy{}
	err := s.view(ctx, "ProxyStatus", func(t *tx) error {
		for i, r := range list {
			found, err := t.chosenProxies(fmt.Sprintf("ProxyStatus[%d].criterions", i), r, nil)
			if err != nil {
				return err
			}
			proxies = append(proxies, found...)
		}
		return nil
	})
	return proxies, err
}

// ProxyFind reads the proxies that a criterion selects: of a site, of each of
// the sites that a criterion on sites selects, or of any (docs/spec/storage.md 4.22). LIMIT
// holds for each site. Without a site and without a clause there is none. A
// criterion that is refused is an error that names its clause.
func (s *Store) ProxyFind(ctx context.Context, list []wire.ProxyFindRequest) ([]wire.Proxy, error) {
	proxies := []wire.Proxy{}
	err := s.view(ctx, "ProxyFind", func(t *tx) error {
		for i, r := range list {
			found, err := t.findProxies(fmt.Sprintf("ProxyFind[%d]", i), r)
			if err != nil {
				return err
			}
			proxies = append(proxies, found...)
		}
		return nil
	})
	return proxies, err
}

func (t *tx) findProxies(object string, r wire.ProxyFindRequest) ([]wire.Proxy, error) {
	var sites []string
	switch {
	case r.SiteID != nil:
		sites = []string{*r.SiteID}
	case !r.SiteCriterion.Empty() || r.SiteCriterion.Tables != "":
		var err error
		if sites, err = t.selectSites(object+".siteCriterions", r.SiteCriterion, expr.SQL{}); err != nil {
			return nil, err
		}
	case r.Criterion.Empty():
		return nil, nil
	default:
		return t.proxies(object+".criterions", "", r.Criterion, nil)
	}
	var list []wire.Proxy
	for _, site := range sites {
		found, err := t.proxies(object+".criterions", site, r.Criterion, []expr.SQL{ofSite(site)})
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// mostProxies is how many of the stored ones a crawl uses (docs/spec/crawling.md 4.10).
const mostProxies = 50

// SiteProxies reads the proxies that are in use for a site, its own and those of
// any site, lowest Priority first, the site's own before others, at most 50.
func (s *Store) SiteProxies(ctx context.Context, site string) ([]wire.Proxy, error) {
	var list []wire.Proxy
	err := s.view(ctx, "SiteProxies", func(t *tx) error {
		list = []wire.Proxy{}
		text := "SELECT " + proxyColumns + " FROM " + t.DB.Table(sqldb.Sites, "sites_proxy") +
			" WHERE Site_Id IN (?, ?, ?) AND State = 1 ORDER BY Priority, CASE WHEN Site_Id = ? THEN 0 ELSE 1 END, Id LIMIT ?"
		return t.Each(text, []any{site, wire.AnySite, wire.GeneralSite, site, mostProxies}, func(scan func(...any) error) error {
			var row wire.Proxy
			err := scan(wire.Targets(&row, wire.ProxyColumns)...)
			list = append(list, row)
			return err
		})
	})
	return list, err
}

// ProxyFault counts a fault of a proxy that SiteProxies gives for a site. It is
// out of use from then on when disabled says so, or when it has FaultsMax of
// them. A proxy that is not there is no error.
func (s *Store) ProxyFault(ctx context.Context, site, host string, disabled bool) error {
	return s.update(ctx, "ProxyFault", func(t *tx) error {
		// State comes first: MySQL would show it the new Faults.
		text := "UPDATE " + t.DB.Table(sqldb.Sites, "sites_proxy") + " SET State = CASE WHEN ? OR (FaultsMax > 0 AND Faults + 1 >= FaultsMax) THEN 0 ELSE State END, " +
			"Faults = CASE WHEN Faults < 4294967295 THEN Faults + 1 ELSE Faults END, UDate = ? WHERE Site_Id IN (?, ?, ?) AND Host = ?"
		_, err := t.Exec(text, disabled, t.now, site, wire.AnySite, wire.GeneralSite, host)
		return err
	})
}

package sites

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// recrawlTries is how often a step runs if its program is killed or fails.
const recrawlTries = 3

// recrawler runs steps of a recrawl on the nodes. It belongs to a worker's goroutine.
type recrawler struct {
	runner
	cfg RecrawlConfig // at the start of the step

	report recrawlReport
}

// recrawlReport is the report of a recrawler to the manager.
type recrawlReport struct {
	Sites    []recrawlSite // selected sites
	Dates    []schema.Date // next dates of the site on all nodes
	Retried  bool          // a step ran more than once
	Requests int64         // runs of db-task
	Deleted  int64         // runs of URL_DELETE
	Updated  int64         // runs of URL_UPDATE
	Renewed  bool          // there is new work for the crawler
	Gone     bool          // the site was deleted
	Tuned    int64         // the new period, minutes
	Faults   []string
}

// recrawlSite joins the answers of all nodes about one site.
type recrawlSite struct {
	wire.RecrawlSite
	Dates []schema.Date // next dates on all nodes
	Nodes int           // nodes that have locked it
	Of    int           // all nodes
	Again bool          // a step may have run before
}

func (r *recrawler) recordFault(what string, err error) {
	r.report.Faults = append(r.report.Faults, what+": "+err.Error())
}

// askNodes runs one operation and returns the objects of the nodes, and an error if a node has none.
// It calls object for each try; again is false for the first one.
func (r *recrawler) askNodes(ctx context.Context, op wire.Op, object func(again bool) any) ([]json.RawMessage, error) {
	var objects []json.RawMessage
	for try := 1; ; try++ {
		raw, err := json.Marshal(object(try > 1))
		if err != nil {
			return nil, err
		}
		stdin, err := json.Marshal(wire.Call{Op: op, Object: raw})
		if err != nil {
			return nil, err
		}
		r.report.Requests++
		results, err := r.runOnNodes(ctx, stdin)
		if err == nil && len(results) == 0 {
			err = executor.ErrNode
		}
		if err != nil {
			return nil, err
		}
		broken := slices.ContainsFunc(results, func(result executor.Result) bool {
			return result.State == executor.Failed || result.State == executor.Lost
		})
		if broken && try < recrawlTries && ctx.Err() == nil {
			r.report.Retried = true
			continue
		}
		objects, err = nil, nil
		for _, result := range results {
			i := itemFromResult(op, result)
			if i.ErrorCode != wire.ResponseOK {
				err = errors.Join(err, fmt.Errorf("node %s: %s", i.Node, i.ErrorMessage))
				continue
			}
			objects = append(objects, i.ItemObject)
		}
		return objects, err
	}
}

// changeRows is ask for an operation that answers a GeneralResponse. It returns the first status of
// each node.
func (r *recrawler) changeRows(ctx context.Context, op wire.Op, object func(again bool) any) (statuses []any, err error) {
	objects, err := r.askNodes(ctx, op, object)
	for _, raw := range objects {
		var g wire.GeneralResponse
		switch e := json.Unmarshal(raw, &g); {
		case e != nil || len(g.Statuses) != 1:
			err = errors.Join(err, fmt.Errorf("cannot read answer %s", firstBytes(raw, answerShown)))
		case g.Statuses[0] == false:
			err = errors.Join(err, fmt.Errorf("not done: %s", g.ErrorMessage))
		default:
			statuses = append(statuses, g.Statuses[0])
		}
	}
	return statuses, err
}

// pickSites runs the step begin or resume.
func (r *recrawler) pickSites(ctx context.Context, request wire.SiteRecrawlRequest) {
	objects, err := r.askNodes(ctx, wire.SiteRecrawl, func(bool) any { return request })
	if err != nil {
		r.recordFault(request.Step, err)
	}
	r.report.Sites, err = mergeSites(objects)
	if err != nil {
		r.recordFault(request.Step, err)
	}
	for i := range r.report.Sites {
		r.report.Sites[i].Again = request.Step == wire.RecrawlResume
	}
}

// mergeSites merges the lists of several nodes: one entry per site with summed counters and the
// earliest lock.
func mergeSites(objects []json.RawMessage) (sites []recrawlSite, err error) {
	at := map[string]int{}
	for _, raw := range objects {
		var list []wire.RecrawlSite
		if e := json.Unmarshal(raw, &list); e != nil {
			err = errors.Join(err, fmt.Errorf("cannot read list of sites: %w", e))
			continue
		}
		for _, s := range list {
			if e := wire.CheckSiteID("RecrawlSite", "id", s.ID); e != nil {
				err = errors.Join(err, e)
				continue
			}
			i, known := at[s.ID]
			if !known {
				at[s.ID] = len(sites)
				sites = append(sites, recrawlSite{RecrawlSite: s, Dates: []schema.Date{s.Next}, Nodes: 1, Of: len(objects)})
				continue
			}
			sites[i].addNode(s)
		}
	}
	return sites, err
}

func (s *recrawlSite) addNode(other wire.RecrawlSite) {
	s.Nodes++
	s.NewURLs += other.NewURLs
	s.Resources += other.Resources
	s.Since = min(s.Since, other.Since)
	if !slices.Contains(s.Dates, other.Next) {
		s.Dates = append(s.Dates, other.Next)
	}
}

// renewSite runs the steps between lock and unlock (docs/spec/daemon.md 2.14, steps 3 to 6). A
// failed step does not prevent the others.
func (r *recrawler) renewSite(ctx context.Context, s recrawlSite) {
	if s.Nodes < s.Of {
		r.lockElsewhere(ctx, &s)
	}
	if r.cfg.DeleteOld && (s.Rules.Delete == nil || *s.Rules.Delete) {
		r.report.Deleted++
		_, err := r.changeRows(ctx, wire.URLDelete, func(bool) any { return r.deleteRequest(s) })
		if err != nil {
			r.recordFault("delete", err)
		}
	}
	if optimize := s.Rules.Optimize; optimize == nil && r.cfg.Optimize || optimize != nil && *optimize {
		_, err := r.changeRows(ctx, wire.SiteRecrawl, func(bool) any {
			return wire.SiteRecrawlRequest{Step: wire.RecrawlOptimize, Sites: []string{s.ID}, Max: 1}
		})
		if err != nil {
			r.recordFault("optimize", err)
		}
	}
	r.report.Dates = s.Dates
	period, refused := r.cfg.tunePeriod(s.RecrawlSite)
	if refused != "" {
		r.recordFault("tune", errors.New(refused))
	}
	r.report.Tuned = period
	r.report.Updated++
	_, err := r.changeRows(ctx, wire.URLUpdate, func(again bool) any { return r.updateRequest(s, again || s.Again) })
	if err != nil {
		r.recordFault("renew", err)
	}
	r.report.Renewed = err == nil
}

// lockElsewhere locks a site also on the nodes that did not find it due, because the steps
// run on all nodes.
func (r *recrawler) lockElsewhere(ctx context.Context, s *recrawlSite) {
	objects, err := r.askNodes(ctx, wire.SiteRecrawl, func(bool) any {
		return wire.SiteRecrawlRequest{Step: wire.RecrawlBegin, Sites: []string{s.ID}, Max: 1, DateExpression: r.cfg.DateExpression}
	})
	more, unreadable := mergeSites(objects)
	if err = errors.Join(err, unreadable); err != nil {
		r.recordFault("begin", err)
	}
	for _, other := range more {
		s.addNode(other.RecrawlSite)
	}
}

func (r *recrawler) deleteRequest(s recrawlSite) any {
	where := s.Rules.DeleteWhere
	if where == "" {
		where = r.cfg.DeleteWhere
	}
	return []any{map[string]any{
		"siteId": s.ID, "url": nil, "urlType": wire.ByMd5, "delayedType": r.cfg.PurgeMethod, "reason": wire.ReasonRecrawl,
		"criterions": map[string]any{"WHERE": where},
	}}
}

// updateRequest returns the URL_UPDATE that sets rows to New. It skips rows that a crawler holds; they
// count as renewed. If the step may have run before, it also skips rows changed since the lock.
func (r *recrawler) updateRequest(s recrawlSite, again bool) any {
	where := s.Rules.Where
	if where == "" {
		where = r.cfg.Renew
	}
	where = "(" + where + ") AND `Status` NOT IN (2,3,8)"
	if _, ok := s.Since.Time(); again && ok {
		where += " AND (`TcDate` IS NULL OR `TcDate`<='" + string(s.Since) + "')"
	}
	return []any{map[string]any{
		"siteId": s.ID, "status": wire.StatusNew, "state": wire.URLEnabled,
		"criterions": map[string]any{"WHERE": where, "LIMIT": nil},
	}}
}

// finishSite unlocks a site on all nodes and stores its tuned period.
func (r *recrawler) finishSite(ctx context.Context, s recrawlSite, tuned int64) {
	request := wire.SiteRecrawlRequest{Step: wire.RecrawlEnd, Sites: []string{s.ID}, Max: 1, DateExpression: r.cfg.DateExpression}
	if tuned != s.Period {
		request.Period = &wire.RecrawlPeriod{From: s.Period, To: tuned, Dates: s.Dates}
	}
	statuses, err := r.changeRows(ctx, wire.SiteRecrawl, func(bool) any { return request })
	if err != nil {
		r.recordFault("unlock", err)
		return
	}
	r.report.Gone = !slices.Contains(statuses, any(float64(wire.CodeOK)))
}

package batches

import (
	"encoding/json"
	"fmt"

	"hce/dc/internal/wire"
)

// With several nodes behind one daemon (placement = propagate), one node crawls and the others hold copies of its rows. So
// the manager selects the rows of all nodes and sends them to the task as items (docs/spec/DECISIONS.md 3.3).

// selectRows takes rows of all nodes and makes a batch of them.
func (c *Crawl) selectRows(r round) {
	c.open[r.id] = r
	c.selecting = c.selecting || !r.rules.Incremental
	c.askNodes(wire.URLFetch, []any{r.rules.CrawlSelection(r.id)}, func(nodes []nodeAnswer, err error) {
		delete(c.open, r.id)
		c.selecting = c.selecting && r.rules.Incremental
		if err != nil {
			c.Log().Warn("cannot select URLs", "batch", r.id, "error", err)
			c.pauseAfterFault("cannot select URLs: " + err.Error())
			c.selectionLost(r.id, err)
			return
		}
		c.startBatch(r, nodes)
	})
}

// giveBack sets rejected URLs to New at once (docs/spec/daemon.md F5), but only rows that this
// selection has marked: the other batch keeps its rows.
func (c *Crawl) giveBack(id int64, rejected []key) {
	if len(rejected) == 0 {
		return
	}
	var updates []map[string]any
	for _, k := range rejected {
		updates = append(updates, map[string]any{
			"siteId": k.Site, "urlMd5": k.Md5, "status": wire.StatusNew,
			"criterions": map[string]any{"WHERE": fmt.Sprintf("`Status` IN (2,8) AND `Batch_Id`=%d", id)},
		})
	}
	c.tellNodes(wire.URLUpdate, updates, c.logFailure("cannot give back rejected URLs", id))
}

// propagateRows copies the batch's rows to the other nodes, so that they do not select them. The
// task starts without waiting for it; the end of the batch waits.
func (c *Crawl) propagateRows(b *batch, copies []map[string]any) {
	b.spreading = true
	log := c.logFailure("cannot propagate URLs", b.id)
	c.tellNodes(wire.URLNew, copies, func(nodes []nodeAnswer, err error) {
		log(nodes, err)
		b.spreading = false
		if b.after != nil {
			b.after()
		}
	})
}

// copyRow returns the copy of a selected row for the other nodes, held by the same batch there.
// Its counters and contents are reset, because each node has its own (docs/spec/DECISIONS.md
// 3.3). It returns nil if the row is not an object.
func copyRow(row json.RawMessage, batch int64) map[string]any {
	var m map[string]any
	if json.Unmarshal(row, &m) != nil {
		return nil
	}
	for _, name := range []string{"crawled", "processed", "errorMask", "crawlingTime", "processingTime", "totalTime", "httpCode",
		"size", "linksI", "linksE", "freq", "mRate", "mRateCounter", "tagsMask", "tagsCount"} {
		m[name] = 0
	}
	for _, name := range []string{"contentType", "charset", "rawContentMd5", "eTag", "contentURLMd5"} {
		m[name] = ""
	}
	m["pDate"], m["lastModified"], m["attributes"] = nil, nil, []any{}
	m["status"], m["state"], m["batchId"], m["siteSelect"] = wire.StatusSelectedCrawling, wire.URLEnabled, batch, wire.SelectNone
	return m
}

// markElsewhere marks the batch's crawled URLs as crawled on the nodes that did not crawl them
// (strategy 0), or deletes them there (1), then calls next. On the crawling node they have a
// later status, or Status 1 with this batch's id if they are due again; the condition excludes
// both.
func (c *Crawl) markElsewhere(b *batch, next func()) {
	where := fmt.Sprintf("((`Status`=1 AND `Batch_Id`<>%[1]d) OR (`Status` IN (2,8) AND `Batch_Id`=%[1]d))", b.id)
	op := wire.URLUpdate
	if c.cfg.CrawledStrategy == 1 {
		op = wire.URLDelete
	}
	var list []map[string]any
	for _, k := range b.end.Crawled {
		if op == wire.URLDelete {
			list = append(list, map[string]any{
				"siteId": k.Site, "url": nil, "urlType": wire.ByMd5, "delayedType": wire.Immediate, "reason": 3,
				"criterions": map[string]any{"WHERE": fmt.Sprintf("`URLMd5`='%s' AND `ParentMd5`<>'' AND %s", k.Md5, where), "LIMIT": 1},
			})
			continue
		}
		list = append(list, map[string]any{
			"siteId": k.Site, "urlMd5": k.Md5, "status": wire.StatusCrawled, "crawled": 0, "processed": 0,
			"criterions": map[string]any{"WHERE": where},
		})
	}
	log := c.logFailure("cannot report the end of the batch to the other nodes", b.id)
	c.tellNodes(op, list, func(nodes []nodeAnswer, err error) {
		log(nodes, err)
		next()
	})
}

// selected holds the fields of a selected URL that the manager uses. The row itself is passed
// on unchanged.
type selected struct {
	SiteID    string `json:"siteId"`
	URLMd5    string `json:"urlMd5"`
	ParentMd5 string `json:"parentMd5"`
}

// checkRow refuses a row with an invalid site id or MD5.
func (s selected) checkRow() error {
	if err := wire.CheckSiteID("URL", "siteId", s.SiteID); err != nil {
		return err
	}
	return wire.CheckMd5("URL", "urlMd5", s.URLMd5)
}

// gathered collects the selected rows of all nodes for one batch.
type gathered struct {
	items    []json.RawMessage
	spread   []map[string]any // copies for the other nodes
	rejected []key            // URLs of active batches
	unread   bool             // a node may have marked rows that cannot be read
}

// startBatch makes a batch of the selected rows and submits it (docs/spec/daemon.md 2.4, 2.5).
func (c *Crawl) startBatch(r round, nodes []nodeAnswer) {
	b := r.newBatch(len(nodes))
	b.keys = map[key]bool{}
	var g gathered
	for _, node := range nodes {
		c.gatherRows(b, &g, node)
	}
	c.giveBack(r.id, g.rejected)
	if len(g.items) == 0 {
		if g.unread {
			c.pauseAfterFault("cannot select URLs: a node did not answer well")
			c.selectionLost(r.id, nil)
		}
		c.more = false // idle until the next period or hint
		if c.hinted {
			c.Kick(crawlTimer)
		}
		return
	}
	if g.unread {
		b.sites = nil // rows that cannot be read may belong to any site
	}
	b.urls = len(g.items)
	c.countBatch(r.fetch)
	// An incremental batch has pages that the other nodes know already.
	if c.cfg.Propagate && !r.rules.Incremental && len(g.spread) > 0 {
		c.propagateRows(b, g.spread)
	}
	c.Log().Info("batch of several nodes", "batch", r.id, "urls", b.urls, "sites", len(b.sites), "incremental", r.rules.Incremental)
	c.submitBatch(b, c.taskForItems(b, g.items))
}

// gatherRows adds the selected rows of one node to the batch.
func (c *Crawl) gatherRows(b *batch, g *gathered, node nodeAnswer) {
	var rows []json.RawMessage
	err := node.err
	if err == nil {
		err = json.Unmarshal(node.object, &rows)
	}
	if err != nil {
		c.Log().Error("cannot read the selection of a node", "batch", b.id, "error", err)
		g.unread = true
		return
	}
	for _, row := range rows {
		var s selected
		err := json.Unmarshal(row, &s)
		if err == nil {
			err = s.checkRow()
		}
		if err != nil {
			c.Log().Error("cannot read a selected URL", "batch", b.id, "error", err)
			g.unread = true
			continue
		}
		k := key{s.SiteID, s.URLMd5}
		if b.keys[k] {
			continue // from another node, which the end of the batch informs
		}
		if c.cfg.CheckActive && c.isActive(k) {
			g.rejected = append(g.rejected, k)
			continue
		}
		item, err := json.Marshal(map[string]any{"siteId": s.SiteID, "urlId": s.URLMd5, "urlObj": row, "properties": map[string]string{}, "depth": 0})
		if err != nil {
			g.unread = true
			continue
		}
		b.keys[k] = true
		b.addSite(s.SiteID)
		g.items = append(g.items, item)
		if s.ParentMd5 != "" {
			if m := copyRow(row, b.id); m != nil {
				g.spread = append(g.spread, m)
			}
		}
	}
}

// isActive reports whether an active batch has the URL.
func (c *Crawl) isActive(k key) bool {
	for _, b := range c.batches {
		if b.keys[k] {
			return true
		}
	}
	return false
}

package batches

import (
	"encoding/json"
	"fmt"

	"hce/dc/internal/wire"
)

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

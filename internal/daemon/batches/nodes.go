package batches

import (
	"encoding/json"
	"fmt"

	"hce/dc/internal/wire"
)

// giveBack makes rejected URLs New again at once (docs/spec/daemon.md F5), where this
// selection marked them and nowhere else: the batch that has them goes on.
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
	c.tell(wire.URLUpdate, updates, c.logFailure("rejected URLs are not given back", id))
}

// propagate puts copies of the batch's rows on the other nodes, so that they do
// not select them meanwhile. The task does not wait for it, its end does.
func (c *Crawl) propagate(b *batch, copies []map[string]any) {
	b.spreading = true
	log := c.logFailure("URLs are not propagated", b.id)
	c.tell(wire.URLNew, copies, func(nodes []nodeAnswer, err error) {
		log(nodes, err)
		b.spreading = false
		if b.after != nil {
			b.after()
		}
	})
}

// copied is the copy of a selected row for the other nodes, held there by the
// same batch: its counters and contents are their own affair (docs/spec/DECISIONS.md 3.3).
// Nil for a row that is no object.
func copied(row json.RawMessage, batch int64) map[string]any {
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

// foreign marks the URLs that the batch crawled as crawled where they were not
// (strategy 0), or deletes them there (1), then goes on. The node that crawled
// them has them in a later status, or in Status 1 with this batch's id when they
// are due again already: the condition leaves it alone.
func (c *Crawl) foreign(b *batch, next func()) {
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
	log := c.logFailure("other nodes are not told of the batch's end", b.id)
	c.tell(op, list, func(nodes []nodeAnswer, err error) {
		log(nodes, err)
		next()
	})
}

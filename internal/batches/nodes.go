package batches

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"

	"hce/dc/internal/dc"
)

// newBatchID is a random unsigned 32-bit number, never 0: the column's width
// (daemon 2.3).
func newBatchID() uint32 {
	var b [4]byte
	for {
		_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program first
		if id := binary.BigEndian.Uint32(b[:]); id != 0 {
			return id
		}
	}
}

// foreign marks the batch's URLs crawled where they were not crawled (strategy
// 0), or deletes them there (1).
func (c *Crawl) foreign(b *running) {
	var list []map[string]any
	for key := range b.keys {
		if c.cfg.CrawledStrategy == 1 {
			list = append(list, map[string]any{
				"siteId": key[0], "url": nil, "urlType": dc.ByMd5, "delayedType": dc.Immediate, "reason": 3,
				"criterions": map[string]any{"WHERE": fmt.Sprintf("`URLMd5`='%s' AND `ParentMd5`<>'' AND `Batch_Id`<>%d", key[1], b.batch), "LIMIT": 1},
			})
			continue
		}
		list = append(list, map[string]any{
			"siteId": key[0], "urlMd5": key[1], "status": dc.StatusCrawled, "crawled": 0, "processed": 0,
			"criterions": map[string]any{"WHERE": fmt.Sprintf(
				"(`Status`=1 AND `Batch_Id`<>%[1]d) OR (`Status` IN (2,8) AND `Batch_Id`=%[1]d)", b.batch)},
		})
	}
	op := dc.URLUpdate
	if c.cfg.CrawledStrategy == 1 {
		op = dc.URLDelete
	}
	c.ask(op, list, c.logFailure("other nodes are not told of the batch's end", b.batch))
}

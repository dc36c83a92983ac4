package frontier

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"maps"
	"time"

	"hce/dc/internal/wire"
)

// order of rows: root pages first, then by priority and depth.
const order = "LENGTH(`ParentMd5`) ASC, `Priority` DESC, `Depth` ASC, `UDate` DESC"

// Rows that are due, in the order in which they are taken.
var (
	DefaultCrawl   = wire.Criterion{Where: wire.DueCrawl, OrderBy: order}
	DefaultProcess = wire.Criterion{Where: wire.DueProcess, OrderBy: order}
)

// Defaults of batches.
const (
	CrawlRows   = 500 // of one selection
	ProcessRows = 300
	Pace        = 10 * time.Second
	RefillTime  = 5 * time.Second
	MaxHostWait = 10 * time.Second  // of an item for its host, before it is handed back
	BatchTime   = 240 * time.Second // in which a batch may start items
)

// Rules choose the rows of a batch.
type Rules struct {
	Sites          []string       // ids; none: SitesCriterion chooses
	SitesCriterion wire.Criterion // of sites
	URLs           wire.Criterion // of rows
	MaxURLs        int64          // rows of one selection
	// Pace limits the rows of a site in one selection: no more than its delay allows to fetch in this time. 0: no limit.
	Pace time.Duration
	// RefillTime is how long the task takes more rows; 0: it takes rows once.
	RefillTime time.Duration
	// Incremental: the rows are crawled pages that may have changed.
	Incremental bool
}

// selection is what both kinds of selections have in common.
func (r Rules) selection() map[string]any {
	sites := r.Sites
	if sites == nil {
		sites = []string{}
	}
	return map[string]any{
		"sitesList": sites, "sitesCriterions": r.SitesCriterion, "urlsCriterions": r.URLs, "maxURLs": r.MaxURLs,
		"algorithm": 1, "attributeNames": []string{},
	}
}

// markRows marks the selected rows for a batch.
func markRows(selection map[string]any, status, batch int64) {
	selection["urlUpdate"] = map[string]any{"status": status, "batchId": batch, "tcDate": "NOW()", "UDate": "NOW()"}
}

// CrawlLook returns the URL_FETCH that reads a row that CrawlSelection would take, and marks none.
func (r Rules) CrawlLook() map[string]any {
	r.MaxURLs = 1
	s := r.selection()
	s["skipBusySites"] = true
	return s
}

// CrawlSelection returns the URL_FETCH that takes rows for crawling (docs/spec/daemon.md 2.3). It leaves out sites with rows
// in a batch: two batches never request from one host.
func (r Rules) CrawlSelection(batch int64) map[string]any {
	s := r.selection()
	s["isLocking"], s["skipBusySites"], s["paceTime"] = true, true, r.Pace.Milliseconds()
	s["siteUpdate"] = map[string]any{"tcDate": "NOW()"}
	status := int64(wire.StatusSelectedCrawling)
	if r.Incremental {
		status = wire.StatusSelectedIncremental
	}
	markRows(s, status, batch)
	return s
}

// processable returns the rules without rows whose processingDelay runs: they are left for a later look. Rows hold all
// that decides it, so a restart changes nothing.
func (r Rules) processable() Rules {
	if r.URLs.Where != "" {
		r.URLs.Where = " AND (" + r.URLs.Where + ")"
	}
	r.URLs.Where = wire.ProcessingDelayOver + r.URLs.Where
	return r
}

// ProcessLook returns the URL_FETCH that reads a row that ProcessSelection would take, and marks none.
func (r Rules) ProcessLook() map[string]any {
	r.MaxURLs = 1
	return r.processable().selection()
}

// ProcessSelection returns the URL_FETCH that takes rows for processing.
func (r Rules) ProcessSelection(batch int64) map[string]any {
	s := r.processable().selection()
	s["asBatch"] = batch
	s["siteUpdate"] = map[string]any{"tcDateProcess": "NOW()"}
	markRows(s, wire.StatusSelectedProcessing, batch)
	return s
}

// CrawlItems returns a Batch with the given items, and with further members.
func (r Rules) CrawlItems(id int64, items []json.RawMessage, more map[string]any) map[string]any {
	kind := wire.CrawlNormal
	if r.Incremental {
		kind = wire.CrawlIncremental
	}
	batch := map[string]any{"id": id, "crawlerType": kind, "items": append([]json.RawMessage{}, items...), "dbMode": wire.DBRead | wire.DBWrite, "retry": true}
	maps.Copy(batch, more)
	return batch
}

// CrawlBatch returns an empty Batch whose task takes its rows, with the given further members.
func (r Rules) CrawlBatch(id int64, more map[string]any) (json.RawMessage, error) {
	batch := r.CrawlItems(id, nil, more)
	batch["refill"], batch["refillTime"] = r.CrawlSelection(id), r.RefillTime.Milliseconds()
	return json.Marshal(batch)
}

// ProcessItems returns a Batch of processing with the given items.
func ProcessItems(id int64, items []json.RawMessage) map[string]any {
	return map[string]any{"id": id, "crawlerType": wire.CrawlProcess, "items": append([]json.RawMessage{}, items...), "dbMode": wire.DBRead | wire.DBWrite}
}

// ProcessBatch returns an empty Batch of processing whose task takes its rows.
func (r Rules) ProcessBatch(id int64) (json.RawMessage, error) {
	batch := ProcessItems(id, nil)
	batch["refill"], batch["refillTime"] = r.ProcessSelection(id), r.RefillTime.Milliseconds()
	return json.Marshal(batch)
}

// NewBatchID returns a random id that fits the column: 32 bits unsigned, not 0 (docs/spec/daemon.md 2.3).
func NewBatchID() int64 {
	var b [4]byte
	for {
		_, _ = rand.Read(b[:]) // crypto/rand never returns an error
		if id := binary.BigEndian.Uint32(b[:]); id != 0 {
			return int64(id)
		}
	}
}

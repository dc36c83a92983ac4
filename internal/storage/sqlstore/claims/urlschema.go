package claims

import (
	"context"
	"slices"

	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// TakeSchema stores the URLs that a URL schema made of a template (docs/spec/crawling.md
// 5.9). The template's row becomes crawled by the batch. The batch gets first instead, in
// Status 2. The others become new, with Crawled + 1, if they exist and no batch holds
// them. New rows are inserted while the site has room; first is always inserted.
//
// Taken is false, and nothing is changed, if another batch holds the template or this
// batch has already used it: so a batch may run twice. An unknown site is an error with
// CodeNotFound.
func (s *Store) TakeSchema(ctx context.Context, site string, batchID int64, template, first wire.URL, others []wire.URL) (taken bool, err error) {
	return tables.RunForResult(ctx, s.run.Update, "TakeSchema", func(t *tx) (bool, error) {
		site, err := t.OpenSite(site)
		if err != nil {
			return false, err
		}
		c := schemaTake{tx: t, site: site, batchID: batchID}
		return c.takeTemplate(template, first, others)
	})
}

// schemaTake is the state of one TakeSchema.
type schemaTake struct {
	*tx
	site    string
	batchID int64
	rows    map[string]wire.URL // existing rows
}

func (c *schemaTake) takeTemplate(template, first wire.URL, others []wire.URL) (taken bool, err error) {
	others = slices.DeleteFunc(slices.Clone(others), func(u wire.URL) bool { return !tables.StorableURL(u.URL) })
	keys := append(tables.KeysOf(others), template.URLMd5, first.URLMd5)
	if c.rows, err = c.ReadURLs(c.site, keys); err != nil {
		return false, err
	}
	old, known := c.rows[template.URLMd5]
	switch {
	case known && c.isHeldElsewhere(old):
		return false, nil
	case known && wire.FreeStatus(old.Status) && old.Status != wire.StatusNew && c.batchID != 0 && old.BatchID == c.batchID:
		return false, nil // already used
	}
	err = c.RunCounted(c.site, keys, func() error {
		if err := c.markTemplateCrawled(template, known); err != nil {
			return err
		}
		if err := c.holdRow(first, template.URLMd5); err != nil {
			return err
		}
		return c.renewRows(others, first.URLMd5, template.URLMd5)
	})
	if err != nil {
		return false, err
	}
	return true, c.insertMissing(template, first, others)
}

// isHeldElsewhere reports whether another batch holds a row.
func (c *schemaTake) isHeldElsewhere(row wire.URL) bool {
	switch row.Status {
	case wire.StatusSelectedCrawling, wire.StatusCrawling, wire.StatusSelectedIncremental:
		return row.BatchID != c.batchID && row.BatchID != 0
	}
	return row.Status == wire.StatusSelectedProcessing || row.Status == wire.StatusProcessing
}

// markTemplateCrawled marks the template as crawled.
func (c *schemaTake) markTemplateCrawled(template wire.URL, known bool) error {
	if !known {
		return nil
	}
	set := schema.Patch{"Status": int64(wire.StatusCrawled), "State": int64(wire.URLEnabled), "Batch_Id": c.batchID, "Processed": int64(0),
		"Size": int64(0), "ContentType": "", "TcDate": c.Now, "UDate": c.Now}
	if err := c.SetRow(c.URLsTarget("template", c.site), template.URLMd5, set, "Crawled = Crawled + 1", "Attempts = 0"); err != nil {
		return err
	}
	return c.StatisticsOf(c.site).RecordStatus(template.URLMd5, wire.StatusCrawled, set)
}

// holdRow gives an existing row to the batch unless another batch holds it.
func (c *schemaTake) holdRow(first wire.URL, template string) error {
	row, known := c.rows[first.URLMd5]
	if !known || c.isHeldElsewhere(row) || first.URLMd5 == template {
		return nil
	}
	set := schema.Patch{"Status": int64(wire.StatusSelectedCrawling), "State": int64(wire.URLEnabled), "Batch_Id": c.batchID, "TcDate": c.Now}
	return c.SetRow(c.URLsTarget("first", c.site), first.URLMd5, set)
}

// renewRows makes existing rows new that no batch holds.
func (c *schemaTake) renewRows(others []wire.URL, except ...string) error {
	var free []string
	seen := map[string]bool{}
	for _, u := range others {
		row, known := c.rows[u.URLMd5]
		if known && (wire.FreeStatus(row.Status) || row.Status == wire.StatusUndefined) && !slices.Contains(except, u.URLMd5) && !seen[u.URLMd5] {
			seen[u.URLMd5] = true
			free = append(free, u.URLMd5)
		}
	}
	set := schema.Patch{"Status": int64(wire.StatusNew), "State": int64(wire.URLEnabled), "TcDate": c.Now, "UDate": c.Now}
	if err := c.SetKeys(c.URLsTarget("schema", c.site), free, set, "Crawled = Crawled + 1"); err != nil {
		return err
	}
	return c.StatisticsOf(c.site).ReachedAll(free, wire.StatusNew, set)
}

// insertMissing adds the missing rows.
func (c *schemaTake) insertMissing(template, first wire.URL, others []wire.URL) error {
	rows := []*wire.URL{}
	seen := map[string]bool{}
	add := func(u wire.URL) {
		if _, known := c.rows[u.URLMd5]; !known && !seen[u.URLMd5] {
			seen[u.URLMd5] = true
			rows = append(rows, &u)
		}
	}
	template.Status, template.BatchID, template.Crawled = wire.StatusCrawled, c.batchID, 1
	template.Processed, template.Size, template.ContentType = 0, 0, ""
	add(template)
	first.Status, first.State, first.BatchID = wire.StatusSelectedCrawling, wire.URLEnabled, c.batchID
	add(first)
	if err := c.AddURLs(c.site, rows); err != nil {
		return err
	}
	rows = nil
	var away []*wire.URL
	for _, u := range others {
		u.Status, u.State, u.BatchID = wire.StatusNew, wire.URLEnabled, 0
		if !c.OwnsURL(u.URL) {
			away = append(away, &u)
			continue
		}
		add(u)
	}
	if err := c.QueueLinks(c.site, away); err != nil {
		return err
	}
	limits, err := c.ReadCapacity(c.site)
	if err != nil {
		return err
	}
	kept, _, err := c.SelectFittingRows(c.site, limits, rows)
	if err != nil {
		return err
	}
	return c.AddURLs(c.site, kept)
}

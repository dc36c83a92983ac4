package sqlstore

import (
	"context"
	"slices"

	"hce/dc/internal/wire"
)

// TakeSchema stores what a URL schema made of a template (docs/spec/crawling.md 5.9): the
// template's row becomes crawled by the batch; first, which takes its place in
// the batch, is held for it in Status 2; the others become new, or new again,
// Crawled + 1, when they are there and in no batch's hands. New rows are
// inserted as far as the site has room, first always. All of it or nothing.
//
// Taken is false, and nothing is changed, when another batch holds the template,
// or this one has used it up already: a second run of a batch does no harm. An
// unknown site is an error with CodeNotFound.
func (s *Store) TakeSchema(ctx context.Context, site string, batchID int64, template, first wire.URL, others []wire.URL) (taken bool, err error) {
	err = s.update(ctx, "TakeSchema", func(t *tx) error {
		taken = false
		site, err := t.mustKnow(site)
		if err != nil {
			return err
		}
		stats, err := t.statistics(site)
		if err != nil {
			return err
		}
		c := schema{tx: t, site: site, batchID: batchID, stats: stats}
		taken, err = c.take(template, first, others)
		return err
	})
	return taken, err
}

// schema is one TakeSchema under way.
type schema struct {
	*tx
	site    string
	batchID int64
	stats   *statistics
	rows    map[string]wire.URL // that were there
}

func (c *schema) take(template, first wire.URL, others []wire.URL) (taken bool, err error) {
	others = slices.DeleteFunc(slices.Clone(others), func(u wire.URL) bool { return !storableURL(u.URL) })
	keys := append(keysOf(others), template.URLMd5, first.URLMd5)
	if c.rows, err = c.urls(c.site, keys); err != nil {
		return false, err
	}
	old, known := c.rows[template.URLMd5]
	switch {
	case known && c.held(old):
		return false, nil
	case known && wire.FreeStatus(old.Status) && old.Status != wire.StatusNew && c.batchID != 0 && old.BatchID == c.batchID:
		return false, nil // used up
	}
	err = c.counted(c.site, keys, func() error {
		if err := c.use(template, known); err != nil {
			return err
		}
		if err := c.hold(first, template.URLMd5); err != nil {
			return err
		}
		return c.renew(others, first.URLMd5, template.URLMd5)
	})
	if err != nil {
		return false, err
	}
	return true, c.insert(template, first, others)
}

// held reports whether a batch other than this one works with a row.
func (c *schema) held(row wire.URL) bool {
	switch row.Status {
	case wire.StatusSelectedCrawling, wire.StatusCrawling, wire.StatusSelectedIncremental:
		return row.BatchID != c.batchID && row.BatchID != 0
	}
	return row.Status == wire.StatusSelectedProcessing || row.Status == wire.StatusProcessing
}

// use marks the template as crawled.
func (c *schema) use(template wire.URL, known bool) error {
	if !known {
		return nil
	}
	set := wire.Patch{"Status": int64(wire.StatusCrawled), "State": int64(wire.URLEnabled), "Batch_Id": c.batchID, "Processed": int64(0),
		"Size": int64(0), "ContentType": "", "TcDate": c.now, "UDate": c.now}
	_, err := c.set(c.urlsTarget("template", c.site), set, []string{"Crawled = Crawled + 1", "Attempts = 0"}, "Site_Id = ? AND URLMd5 = ?", c.site, template.URLMd5)
	if err != nil {
		return err
	}
	return c.stats.reached(template.URLMd5, wire.StatusCrawled, set)
}

// hold gives a row that is there to the batch, unless another one has it.
func (c *schema) hold(first wire.URL, template string) error {
	row, known := c.rows[first.URLMd5]
	if !known || c.held(row) || first.URLMd5 == template {
		return nil
	}
	set := wire.Patch{"Status": int64(wire.StatusSelectedCrawling), "State": int64(wire.URLEnabled), "Batch_Id": c.batchID, "TcDate": c.now}
	_, err := c.set(c.urlsTarget("first", c.site), set, nil, "Site_Id = ? AND URLMd5 = ?", c.site, first.URLMd5)
	return err
}

// renew makes rows new again that no batch has.
func (c *schema) renew(others []wire.URL, but ...string) error {
	var free []string
	seen := map[string]bool{}
	for _, u := range others {
		row, known := c.rows[u.URLMd5]
		if known && (wire.FreeStatus(row.Status) || row.Status == wire.StatusUndefined) && !slices.Contains(but, u.URLMd5) && !seen[u.URLMd5] {
			seen[u.URLMd5] = true
			free = append(free, u.URLMd5)
		}
	}
	set := wire.Patch{"Status": int64(wire.StatusNew), "State": int64(wire.URLEnabled), "TcDate": c.now, "UDate": c.now}
	err := chunks(free, func(in string, args []any) error {
		_, err := c.set(c.urlsTarget("schema", c.site), set, []string{"Crawled = Crawled + 1"}, "Site_Id = ? AND URLMd5 IN ("+in+")", append([]any{c.site}, args...)...)
		return err
	})
	if err != nil {
		return err
	}
	return c.stats.reachedAll(free, wire.StatusNew, set)
}

// insert adds the rows that were not there.
func (c *schema) insert(template, first wire.URL, others []wire.URL) error {
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
	if err := c.addURLs(c.site, rows, c.stats); err != nil {
		return err
	}
	rows = nil
	for _, u := range others {
		u.Status, u.State, u.BatchID = wire.StatusNew, wire.URLEnabled, 0
		add(u)
	}
	room, err := c.room(c.site)
	if err != nil {
		return err
	}
	return c.addURLs(c.site, rows[:min(len(rows), room.left())], c.stats)
}

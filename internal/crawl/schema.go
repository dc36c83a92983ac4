package crawl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"hce/dc/internal/cookies"
	"hce/dc/internal/dc"
	"hce/dc/internal/statefile"
	"hce/dc/internal/urlschema"
)

// Items whose URL is a template (URLS_SCHEMA) are replaced before the first pass by
// what the schema makes of it. The values that are used up are written down first,
// then the rows: a kill in between uses up values without a row, never one twice
// (crawling 5.9).

// applySchemas gives the items of the batch with templates replaced. An item whose
// schema makes nothing stays as it is.
func (r *batchRun) applySchemas(ctx context.Context, items []dc.BatchItem) ([]dc.BatchItem, error) {
	list := make([]dc.BatchItem, 0, len(items))
	met := map[[2]string]bool{}
	add := func(bi dc.BatchItem) {
		key := [2]string{bi.SiteID, bi.URLID}
		if !met[key] {
			met[key] = true
			list = append(list, bi)
		}
	}
	sites := map[string]*dc.Site{}
	for _, bi := range items {
		site, known := sites[bi.SiteID]
		if !known {
			var err error
			if site, err = r.Data.Site(ctx, bi.SiteID); err != nil {
				return nil, fmt.Errorf("crawl.applySchemas: site %s: %w", bi.SiteID, err)
			}
			sites[bi.SiteID] = site
		}
		made, err := r.applySchema(ctx, site, bi)
		if err != nil {
			return nil, err
		}
		if len(made) == 0 {
			add(bi)
			continue
		}
		for _, m := range made {
			add(m)
		}
	}
	return list, nil
}

// applySchema makes items of one template: the first URL in its place, and others
// as batch_insert says. None are made of an item without a schema.
func (r *batchRun) applySchema(ctx context.Context, site *dc.Site, bi dc.BatchItem) ([]dc.BatchItem, error) {
	if site == nil || !r.active(site) || !crawlable(bi.URL.Status) {
		return nil, nil
	}
	view := *site
	bi.Site.Apply(&view)
	if p := propertiesOf(&view, bi.Properties); p.text("URLS_SCHEMA") == "" {
		return nil, nil
	}
	set, _ := readSettings(&view, bi.Properties, r.Config) // plan warns of what is wrong
	if set.schema == nil || set.schema.Type == urlschema.TypeOff || !set.schema.Applies(bi.URL.URL) {
		return nil, nil
	}
	log := r.log.With("site", site.ID, "url", bi.URL.URL)
	if err := r.loadSchema(ctx, set, &view, bi); err != nil {
		log.Warn("the parameters of URLS_SCHEMA cannot be had", "error", err)
		bi.URL.ErrorMask |= dc.ErrURLsSchema
		return nil, nil
	}
	urls, err := r.generate(ctx, set.schema, site, bi.URL.URL)
	if err != nil {
		log.Warn("URLS_SCHEMA makes no URLs: what it uses up cannot be written down", "error", err)
		return nil, nil
	}
	if len(urls) == 0 {
		return nil, nil
	}
	rows := make([]dc.URL, len(urls))
	for i, text := range urls {
		row := bi.URL
		row.URL, row.URLMd5, row.ParentMd5 = text, dc.Md5(text), bi.URLID
		row.Crawled, row.ErrorMask, row.Status, row.State = 0, 0, dc.StatusNew, dc.URLEnabled
		rows[i] = row
	}
	if r.writes() {
		taken, err := r.Data.TakeSchema(ctx, site.ID, r.batch.ID, bi.URL, rows[0], rows[1:])
		if gone(err) || err == nil && !taken {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("crawl.applySchema: site %s: %w", site.ID, err)
		}
	}
	joins := map[int]int{urlschema.BatchAll: len(rows), urlschema.BatchFirst: min(2, len(rows))}[set.schema.BatchInsert]
	var made []dc.BatchItem
	for i, row := range rows[:max(1, joins)] {
		next := bi
		next.URL, next.URLID = row, row.URLMd5
		if i == 0 {
			next.URL.Status = dc.StatusSelectedCrawling
		}
		made = append(made, next)
	}
	return made, nil
}

// generate makes the URLs of a template and writes down what it used.
func (r *batchRun) generate(ctx context.Context, schema *urlschema.Schema, site *dc.Site, template string) (urls []string, err error) {
	limit := 0
	for _, most := range []int64{site.MaxURLs, site.MaxResources} {
		if most > 0 && (limit == 0 || int(most) < limit) {
			limit = int(min(most, urlschema.MaxURLs))
		}
	}
	random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	var state urlschema.State
	if r.Config.SchemaDir == "" {
		return schema.Generate(template, &state, random, limit), nil
	}
	path := filepath.Join(r.Config.SchemaDir, statefile.Name("url_schema_data_"+site.ID)+".json")
	files := statefile.Files{Durable: true, Log: r.log}
	err = files.Update(ctx, path, &state, func() error {
		urls = schema.Generate(template, &state, random, limit)
		return nil
	})
	return urls, err
}

// loadSchema brings the parameters of a schema that come from elsewhere: from its
// file, else from the first source that answers with good ones. Each source is
// asked like a page: through its host's gate, within the site's limits.
func (r *batchRun) loadSchema(ctx context.Context, set *settings, site *dc.Site, bi dc.BatchItem) error {
	name, err := set.schema.File(r.Config.SchemaDir)
	if err != nil {
		return err
	}
	if name != "" && r.Config.SchemaDir != "" {
		body, err := readBelow(r.Config.SchemaDir, name)
		if err == nil {
			return set.schema.Load(body)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	sources := set.schema.Sources()
	if len(sources) == 0 {
		return nil
	}
	var errs []error
	for _, source := range sources {
		it := &item{BatchItem: bi, url: bi.URL, row: bi.URL, target: source, site: &siteWork{Site: *site}, settings: set}
		v := r.visit(it)
		err := v.allowed(ctx, source)
		if err == nil {
			err = v.enter(ctx, source)
		}
		if err == nil {
			answer, failed := v.get(ctx, v.request(source, cookies.Page))
			v.leaveGate()
			v.leaveSlot()
			switch {
			case failed != nil:
				err = failed
			case answer.Code != 200:
				err = fmt.Errorf("%s answers with %d", source, answer.Code)
			default:
				err = set.schema.Load(answer.Body)
			}
			v.memory.Keep(0)
		}
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// readBelow reads a file below a folder, and follows no link out of it.
func readBelow(folder, name string) ([]byte, error) {
	f, err := os.OpenInRoot(folder, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, urlschema.MaxBody+1))
}

package crawl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"

	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/statefile"
	"hce/dc/internal/web/canonical"
	"hce/dc/internal/web/urlschema"
	"hce/dc/internal/wire"
)

// Items whose URL is a template (URLS_SCHEMA) are replaced before the first pass by
// what the schema makes of it. The values that are used up are written down first,
// then the rows: a kill in between uses up values without a row, never one twice
// (docs/spec/crawling.md 5.9).

// applySchemas gives the items of the batch with templates replaced. An item whose
// schema makes nothing stays as it is; where that is a failure it gets bit 46, and
// is not asked for.
func (r *batchRun) applySchemas(ctx context.Context, items []wire.BatchItem) ([]wire.BatchItem, error) {
	list := make([]wire.BatchItem, 0, len(items))
	met := map[[2]string]bool{}
	add := func(bi wire.BatchItem) {
		key := [2]string{bi.SiteID, bi.URLID}
		if !met[key] {
			met[key] = true
			list = append(list, bi)
		}
	}
	sites := map[string]*wire.Site{}
	schemas := map[schemaKey]*loadedSchema{}
	for _, bi := range items {
		site, known := sites[bi.SiteID]
		if !known {
			var err error
			if site, err = r.readSite(context.WithoutCancel(ctx), bi.SiteID); err != nil {
				return nil, fmt.Errorf("crawl.applySchemas: site %s: %w", bi.SiteID, err)
			}
			sites[bi.SiteID] = site
		}
		made, err := r.applySchema(ctx, site, bi, schemas)
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

// schemaKey is a URLS_SCHEMA of a site, by its text.
type schemaKey struct{ site, text string }

// loadedSchema is a schema with its parameters, as far as they could be had: its
// sources are asked once in a batch.
type loadedSchema struct {
	*urlschema.Schema
	err error
}

// applySchema makes items of one template: the first URL in its place, and others
// as batch_insert says. None are made of an item without a schema.
func (r *batchRun) applySchema(ctx context.Context, site *wire.Site, bi wire.BatchItem, schemas map[schemaKey]*loadedSchema) ([]wire.BatchItem, error) {
	if site == nil || !crawlable(bi.URL.Status) || ctx.Err() != nil {
		return nil, nil
	}
	view := *site
	bi.Site.Apply(&view)
	if !r.active(&view) || overLimits(&view) != 0 {
		return nil, nil
	}
	key := schemaKey{site.ID, propertiesOf(&view, bi.Properties).text("URLS_SCHEMA")}
	if key.text == "" {
		return nil, nil
	}
	set, _ := readSettings(&view, bi.Properties, r.Config) // plan warns of what is wrong
	if set.schema == nil || set.schema.Type == urlschema.TypeOff || !set.schema.Applies(bi.URL.URL) && !looksTemplate(bi.URL.URL) {
		return nil, nil
	}
	log := r.log.With("site", site.ID, "url", bi.URL.URL)
	loaded := schemas[key]
	if loaded == nil {
		loaded = &loadedSchema{set.schema, r.loadSchema(ctx, set, &view, bi)}
		if errors.Is(loaded.err, errNoTime) || ctx.Err() != nil {
			return nil, nil // there is none for the item either
		}
		if loaded.err != nil {
			log.Warn("the parameters of URLS_SCHEMA cannot be had", "error", loaded.err)
		}
		schemas[key] = loaded
	}
	ctx = context.WithoutCancel(ctx)
	urls, err := r.generate(ctx, loaded.Schema, set, &view, bi.URL.URL)
	if err != nil {
		log.Warn("URLS_SCHEMA makes no URLs: what it uses up cannot be written down", "error", err)
	}
	if err != nil || loaded.err != nil {
		r.noted[chainKey{bi.SiteID, bi.URLID}] |= wire.ErrURLsSchema
	}
	if len(urls) == 0 {
		return nil, nil
	}
	rows := make([]wire.URL, len(urls))
	for i, text := range urls {
		rows[i] = schemaRow(bi, text)
		if loaded.err != nil {
			r.noted[chainKey{bi.SiteID, rows[i].URLMd5}] |= wire.ErrURLsSchema
		}
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
	joins := map[int]int{urlschema.BatchAll: len(rows), urlschema.BatchFirst: min(2, len(rows))}[loaded.BatchInsert]
	var made []wire.BatchItem
	for i, row := range rows[:max(1, joins)] {
		next := bi
		next.URL, next.URLID = row, row.URLMd5
		if i == 0 {
			next.URL.Status, next.URL.BatchID = wire.StatusSelectedCrawling, r.batch.ID
		}
		made = append(made, next)
	}
	return made, nil
}

// schemaRow is the row of a URL that was made of an item's: how it is to be crawled
// is the item's, what was found out about that is not.
func schemaRow(bi wire.BatchItem, text string) wire.URL {
	u, t := wire.NewURL(bi.SiteID, text), bi.URL
	u.ParentMd5, u.Type, u.HTTPMethod, u.Depth, u.Priority = bi.URLID, t.Type, t.HTTPMethod, t.Depth, t.Priority
	u.RequestDelay, u.ProcessingDelay, u.HTTPTimeout, u.MaxURLsFromPage = t.RequestDelay, t.ProcessingDelay, t.HTTPTimeout, t.MaxURLsFromPage
	u.Status, u.State = wire.StatusNew, wire.URLEnabled
	return u
}

// looksTemplate tells a URL with a percent sign that escapes nothing, as macros
// have one.
func looksTemplate(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			continue
		}
		if _, err := url.PathUnescape(text[i:min(i+3, len(text))]); err != nil {
			return true
		}
	}
	return false
}

// generate makes the URLs of a template, in their canonical form, and writes down
// what it used. Texts that are no URL of the site's schemes are left out.
func (r *batchRun) generate(ctx context.Context, schema *urlschema.Schema, set *settings, site *wire.Site, template string) ([]string, error) {
	limit := 0
	for _, most := range []int64{site.MaxURLs, site.MaxResources} {
		if most > 0 && (limit == 0 || int(most) < limit) {
			limit = int(min(most, urlschema.MaxURLs))
		}
	}
	random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	var made []string
	var state urlschema.State
	use := func() error {
		made = schema.Generate(template, &state, random, limit)
		return nil
	}
	if r.Config.SchemaDir == "" {
		_ = use()
	} else {
		path := filepath.Join(r.Config.SchemaDir, statefile.Name("url_schema_data_"+site.ID)+".json")
		files := statefile.Files{Durable: true, Log: r.log}
		if err := files.Update(ctx, path, &state, use); err != nil {
			return nil, err
		}
	}
	var urls []string
	met := map[string]bool{}
	for _, text := range made {
		if u, err := set.schemes.Canonical(text); err == nil && !met[u] {
			met[u] = true
			urls = append(urls, u)
		}
	}
	return urls, nil
}

// loadSchema brings the parameters of a schema that come from elsewhere: from its
// file, else from the first source that answers with good ones. Each source is
// asked like a page: through its host's gate, within the site's limits.
func (r *batchRun) loadSchema(ctx context.Context, set *settings, site *wire.Site, bi wire.BatchItem) error {
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
		err := v.throughProxy(ctx, nil)
		if err == nil {
			err = v.allowed(ctx, source)
		}
		if err == nil {
			err = v.enter(ctx, source)
		}
		if err == nil {
			request := v.request(source, cookies.Page)
			if canonical.Host(source) != canonical.Host(bi.URL.URL) {
				request.Header.Del("Authorization") // the password of the site's own host
			}
			answer, failed := v.get(ctx, request)
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
		v.leaveGate()
		v.leaveSlot()
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

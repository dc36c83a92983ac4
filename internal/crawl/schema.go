package crawl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"path/filepath"

	"hce/dc/canonical"
	"hce/dc/internal/crawl/budget"
	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/item"
	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/crawl/statefile"
	"hce/dc/internal/web/urlschema"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/property"
)

// An item whose URL is a template (URLS_SCHEMA) is replaced before the first pass by the URLs
// that the schema generates. The used values are stored first, then the rows: a kill in between
// loses values, but never uses one twice (docs/spec/crawling.md 5.9).

// applySchemas returns the items of the batch with templates replaced. An item whose schema
// generates nothing stays. If that is a failure, it gets bit 46 and is not requested.
func (r *planner) applySchemas(ctx context.Context, items []wire.BatchItem) ([]wire.BatchItem, error) {
	list := make([]wire.BatchItem, 0, len(items))
	met := map[item.Key]bool{}
	add := func(bi wire.BatchItem) {
		key := item.Key{Site: bi.SiteID, URL: bi.URLID}
		if !met[key] {
			met[key] = true
			list = append(list, bi)
		}
	}
	schemas := map[schemaKey]*loadedSchema{}
	for _, bi := range items {
		site, err := r.readSite(context.WithoutCancel(ctx), bi.SiteID)
		if err != nil {
			return nil, fmt.Errorf("apply URL schemas: read site %s: %w", bi.SiteID, err)
		}
		made, err := r.applySchema(ctx, site, bi, schemas)
		if err != nil {
			return nil, err
		}
		if len(made) == 0 {
			made = []wire.BatchItem{bi}
		}
		for _, m := range made {
			add(m)
		}
	}
	return list, nil
}

// schemaKey identifies a URLS_SCHEMA of a site by its text.
type schemaKey struct{ site, text string }

// loadedSchema is a schema with its parameters. Its sources are requested once per batch.
type loadedSchema struct {
	*urlschema.Schema
	err error
}

// applySchema generates the items of one template: the first URL replaces it, others join as
// batch_insert says. It returns nil for an item without a schema.
func (r *planner) applySchema(ctx context.Context, site *wire.Site, bi wire.BatchItem, schemas map[schemaKey]*loadedSchema) ([]wire.BatchItem, error) {
	if site == nil || !isCrawlable(bi.URL.Status) || ctx.Err() != nil {
		return nil, nil
	}
	view := *site
	bi.Site.Apply(&view)
	if !r.Batch.Allows(&view) || view.OverLimits(errormask.SiteMaxErrors, errormask.SiteMaxResources) != 0 {
		return nil, nil
	}
	key := schemaKey{site.ID, property.Of(&view, bi.Properties).Text("URLS_SCHEMA")}
	if key.text == "" {
		return nil, nil
	}
	set, _ := settings.Read(&view, bi.Properties, r.Config) // plan logs the problems
	if set.Schema == nil || set.Schema.Type == urlschema.TypeOff || !set.Schema.Applies(bi.URL.URL) && !looksTemplate(bi.URL.URL) {
		return nil, nil
	}
	log := r.Log.With("site", site.ID, "url", bi.URL.URL)
	loaded := schemas[key]
	if loaded == nil {
		loaded = &loadedSchema{set.Schema, r.loadSchema(ctx, set, &view, bi)}
		if errors.Is(loaded.err, budget.ErrNoTime) || ctx.Err() != nil {
			return nil, nil // the batch has ended, for the item too
		}
		if loaded.err != nil {
			log.Warn("cannot load the parameters of URLS_SCHEMA", "error", loaded.err)
		}
		schemas[key] = loaded
	}
	ctx = context.WithoutCancel(ctx)
	urls, err := r.generateURLs(ctx, loaded.Schema, set, &view, bi.URL.URL)
	if err != nil {
		log.Warn("URLS_SCHEMA generates no URLs: cannot store its used values", "error", err)
	}
	if err != nil || loaded.err != nil {
		r.noted[item.Key{Site: bi.SiteID, URL: bi.URLID}] |= errormask.URLsSchema
	}
	if len(urls) == 0 {
		return nil, nil
	}
	urls = r.ownFirst(urls)
	rows := make([]wire.URL, len(urls))
	for i, text := range urls {
		rows[i] = schemaRow(bi, text)
		if loaded.err != nil {
			r.noted[item.Key{Site: bi.SiteID, URL: rows[i].URLMd5}] |= errormask.URLsSchema
		}
	}
	if r.MayWrite() {
		taken, err := r.data.TakeSchema(ctx, site.ID, r.Batch.ID, bi.URL, rows[0], rows[1:])
		if item.IsSiteGone(err) || err == nil && !taken {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("store URLs of URLS_SCHEMA of site %s: %w", site.ID, err)
		}
		delete(r.marked, item.Key{Site: bi.SiteID, URL: bi.URLID})
	}
	joins := map[int]int{urlschema.BatchAll: len(rows), urlschema.BatchFirst: min(2, len(rows))}[loaded.BatchInsert]
	var made []wire.BatchItem
	for i, row := range rows[:max(1, joins)] {
		if i > 0 && !r.OwnsURL(row.URL) {
			break // links of other nodes
		}
		next := bi
		next.URL, next.URLID = row, row.URLMd5
		if i == 0 {
			next.URL.Status, next.URL.BatchID = wire.StatusSelectedCrawling, r.Batch.ID
		}
		made = append(made, next)
	}
	return made, nil
}

// ownFirst returns the URLs of this node, then those of others.
func (r *planner) ownFirst(urls []string) []string {
	var own, others []string
	for _, text := range urls {
		if r.OwnsURL(text) {
			own = append(own, text)
		} else {
			others = append(others, text)
		}
	}
	return append(own, others...)
}

// schemaRow returns the row of a generated URL. It copies the settings of the template's row,
// not its results.
func schemaRow(bi wire.BatchItem, text string) wire.URL {
	u, t := wire.NewURL(bi.SiteID, text), bi.URL
	u.ParentMd5, u.Type, u.HTTPMethod, u.Depth, u.Priority = bi.URLID, t.Type, t.HTTPMethod, t.Depth, t.Priority
	u.RequestDelay, u.ProcessingDelay, u.HTTPTimeout, u.MaxURLsFromPage = t.RequestDelay, t.ProcessingDelay, t.HTTPTimeout, t.MaxURLsFromPage
	u.Status, u.State = wire.StatusNew, wire.URLEnabled
	return u
}

// looksTemplate reports whether a URL contains a percent sign that is not an escape, as macros
// have.
func looksTemplate(text string) bool {
	_, err := url.PathUnescape(text)
	return err != nil
}

// generateURLs returns the canonical URLs of a template and stores which values it used. Texts
// that are not URLs of the site's schemes are left out.
func (r *planner) generateURLs(ctx context.Context, schema *urlschema.Schema, set *settings.Settings, site *wire.Site, template string) ([]string, error) {
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
		files := statefile.Files{Durable: true, Log: r.Log}
		if err := files.Update(ctx, path, &state, use); err != nil {
			return nil, err
		}
	}
	var urls []string
	met := map[string]bool{}
	for _, text := range made {
		if u, err := set.Schemes.Canonical(text); err == nil && !met[u] {
			met[u] = true
			urls = append(urls, u)
		}
	}
	return urls, nil
}

// loadSchema loads external parameters of a schema: from its file, or from the first source
// with a valid answer. Requests pass the host's gate and the site's limits.
func (r *planner) loadSchema(ctx context.Context, set *settings.Settings, site *wire.Site, bi wire.BatchItem) error {
	name, err := set.Schema.File(r.Config.SchemaDir)
	if err != nil {
		return err
	}
	if name != "" && r.Config.SchemaDir != "" {
		body, err := statefile.ReadBelow(r.Config.SchemaDir, name, urlschema.MaxBody)
		if err == nil {
			return set.Schema.Load(body)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	var errs []error
	for _, source := range set.Schema.Sources() {
		it := &item.Item{BatchItem: bi, Row: bi.URL, Before: bi.URL, Target: source, View: &item.SiteView{Site: *site}, Settings: set}
		v := r.NewVisit(it)
		err := v.PrepareRequest(ctx, source, nil)
		if err == nil {
			request := v.NewRequest(source, cookies.Page)
			if canonical.Host(source) != canonical.Host(bi.URL.URL) {
				request.Header.Del("Authorization") // the password belongs to the site's own host
			}
			answer, failed := v.SendRequest(ctx, request)
			switch {
			case failed != nil:
				err = failed
			case !wire.IsPageCode(int64(answer.Code)):
				err = fmt.Errorf("%s answered with code %d", source, answer.Code)
			default:
				err = set.Schema.Load(answer.Body)
			}
			v.Memory.Keep(0)
		}
		v.LeaveAll()
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

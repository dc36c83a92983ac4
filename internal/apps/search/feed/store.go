package feed

import (
	"context"
	"strings"
	"time"

	"hce/dc/internal/apps/search/index"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/wire"
)

// storeDifference reads the contents of rows and makes the change, in parts; the last part has the state.
func (f *Feed) storeDifference(ctx context.Context, site string, d difference, state index.SiteState) (changed int, err error) {
	rest := d.read
	for len(rest) > pagesAtOnce {
		n, err := f.putDocuments(ctx, site, rest[:pagesAtOnce], index.Change{})
		if changed += n; err != nil {
			return changed, err
		}
		rest = rest[pagesAtOnce:]
	}
	n, err := f.putDocuments(ctx, site, rest, index.Change{Delete: d.remove, Hosts: d.hosts, State: map[string]index.SiteState{site: state}})
	return changed + n, err
}

// putDocuments adds documents of rows to a change and makes it.
func (f *Feed) putDocuments(ctx context.Context, site string, rows []wire.URL, c index.Change) (int, error) {
	list, err := f.readContents(ctx, site, rows)
	if err != nil {
		return 0, err
	}
	for i := range list {
		d := indexDocument(&list[i])
		if err := index.Check(d); err != nil {
			f.countSkipped("its URL cannot be indexed", list[i].URL.URL) // such as one of another scheme
			continue
		}
		c.Put = append(c.Put, d)
	}
	if err := f.Index.Apply(c); err != nil {
		return 0, err
	}
	for i := range list {
		f.rememberVersion(site, &list[i].URL)
	}
	return len(c.Put) + len(c.Delete), f.publishChanges(publishEvery)
}

// readContents reads the processed contents of rows. Rows that have gone meanwhile are left out.
func (f *Feed) readContents(ctx context.Context, site string, rows []wire.URL) (list []pages.Page, err error) {
	if len(rows) == 0 {
		return nil, nil
	}
	var keys []string
	for i := range rows {
		keys = append(keys, "'"+rows[i].URLMd5+"'")
	}
	r := pages.Reader{Service: f.Service, Site: site, Where: "`URLMd5` IN (" + strings.Join(keys, ",") + ")", Needs: pages.Processed, Damaged: func(row *wire.URL, err error) {
		f.countSkipped(damagedReason, row.URL)
		f.Log.Error("a stored page is damaged and not indexed", "site", site, "url", row.URL, "error", err)
	}}
	err = r.Read(ctx, "", func(p *pages.Page) error {
		if isUsable(&p.URL, f.Now()) {
			list = append(list, *p)
		}
		return nil
	}, nil)
	return list, err
}

// removeSites removes the documents of sites that are not in the cluster any more.
func (f *Feed) removeSites(ctx context.Context, known map[string]bool) (n int, err error) {
	stored, err := f.Index.Sites(ctx)
	if err != nil {
		return 0, err
	}
	for _, site := range stored {
		for !known[site] {
			list, err := f.Index.OfSite(ctx, site, rowsAtOnce)
			if err != nil {
				return n, err
			}
			c := index.Change{Delete: list}
			if len(list) < rowsAtOnce {
				c.DropSites = []string{site}
				known[site] = true
			}
			if err := f.Index.Apply(c); err != nil {
				return n, err
			}
			n += len(list)
		}
	}
	return n, nil
}

// removeHosts removes hosts that were not visited for long, once in a minute.
func (f *Feed) removeHosts(ctx context.Context) (int, error) {
	now := f.Now()
	if f.Expire <= 0 || now.Sub(f.expired) < time.Minute {
		return 0, nil
	}
	n, err := f.Index.Expire(ctx, now.Add(-f.Expire))
	if f.expired = now; n > 0 {
		f.Log.Info("expired", "documents", n, "after", f.Expire)
	}
	return n, err
}

// publishChanges publishes changes, also those of others, if the last time is after ago.
func (f *Feed) publishChanges(after time.Duration) error {
	if now := f.Now(); f.Index.Unpublished() && now.Sub(f.published) >= after {
		if err := f.Index.Publish(); err != nil {
			return err
		}
		f.published = now
	}
	return nil
}

func appendHost(list []index.HostState, row *wire.URL) []index.HostState {
	seen, ok := row.TcDate.Time()
	if !ok {
		seen, ok = row.UDate.Time()
	}
	host, _ := index.SplitURL(row.URL)
	if !ok || host == "" {
		return list
	}
	if n := len(list); n > 0 && list[n-1].Host == host {
		if seen.After(list[n-1].Seen) {
			list[n-1].Seen = seen
		}
		return list
	}
	return append(list, index.HostState{Host: host, Seen: seen})
}

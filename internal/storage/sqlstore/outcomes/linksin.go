package outcomes

import (
	"context"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/storage/sqlstore/urls"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
	"hce/dc/internal/wire/property"
)

// keptBundles is the number of bundles that LinksStore remembers. More are never under way from all
// nodes together.
const keptBundles = 1_000_000

// SiteWait is the age up to which links of unknown sites are refused. Then SITE_NEW may still be on
// its way, and the sender tries again. Later the site is deleted, and they are dropped.
const SiteWait = 24 * time.Hour

// LinksStore stores links that other nodes have found, in one transaction: new rows while the site
// has room, and the Freq and the reset of known ones, as for links of a page here
// (docs/spec/crawling.md 5.7, 5.8). The properties of the site are those of now. A bundle that was
// stored before changes nothing. A link whose host belongs to a third node is queued for it. If a site
// is unknown, nothing is stored and the error has CodeNotFound, unless the links are older than
// SiteWait: then those of the site are dropped.
func (s *Store) LinksStore(ctx context.Context, m cluster.LinksMessage) (cluster.LinksStored, error) {
	now := s.db.Options.Now()
	var done []*finishing
	answer, err := tables.RunForResult(ctx, s.run.Update, "LinksStore", func(t *tx) (cluster.LinksStored, error) {
		done = nil
		k := receiving{tx: t, answer: cluster.LinksStored{Unknown: []string{}}}
		links, err := t.noteUnstored(m.Bundles)
		if err != nil || len(links) == 0 {
			k.answer.Repeated = err == nil
			return k.answer, err
		}
		err = k.storeLinks(links)
		done = k.done
		return k.answer, err
	})
	if err != nil {
		return cluster.LinksStored{}, err
	}
	for _, f := range done {
		f.rememberLinks(now)
		for _, reason := range f.saved.Refused {
			s.db.Options.Log.Warn("left out invalid property", "site", f.id, "reason", reason)
		}
	}
	return answer, nil
}

// noteUnstored notes the keys of bundles and returns the links of those that were not noted before.
func (t *tx) noteUnstored(bundles []cluster.LinkBundle) (links []*wire.URL, err error) {
	keys, table := tables.MapSlice(bundles, cluster.LinkBundle.Key), t.DB.Table(sqldb.Sites, "links_in")
	met, err := t.KeysFromQuery(keys, "SELECT BundleKey FROM "+table+" WHERE BundleKey IN ")
	if err != nil {
		return nil, err
	}
	var fresh [][]any
	for i, b := range bundles {
		if met[keys[i]] {
			continue
		}
		met[keys[i]] = true
		fresh = append(fresh, []any{keys[i]})
		for j := range b.Links {
			links = append(links, (*wire.URL)(&b.Links[j]))
		}
	}
	if len(fresh) == 0 {
		return nil, nil
	}
	if err := t.InsertRows("INSERT INTO "+table+" (BundleKey)", fresh); err != nil {
		return nil, err
	}
	return links, t.forgetBundles(int64(len(fresh)))
}

// forgetBundles removes old keys after some new ones, a thousand at a time.
func (t *tx) forgetBundles(fresh int64) error {
	var newest int64
	if _, err := t.Get("links_newest", nil, &newest); err != nil {
		return err
	}
	if newest < keptBundles || newest/1000 == (newest-fresh)/1000 {
		return nil
	}
	_, err := t.Do("links_forget", newest-keptBundles)
	return err
}

// receiving is the state of one LinksStore.
type receiving struct {
	*tx
	answer cluster.LinksStored
	done   []*finishing
}

func (k *receiving) storeLinks(links []*wire.URL) error {
	bySite := wire.Groups(links, func(u *wire.URL) string { return u.SiteID })
	slices.SortFunc(bySite, func(a, b []*wire.URL) int { // all requests lock sites in this order
		return strings.Compare(a[0].SiteID, b[0].SiteID)
	})
	for _, urls := range bySite {
		site, all := urls[0].SiteID, len(urls)
		urls = slices.DeleteFunc(urls, func(u *wire.URL) bool { return !tables.StorableURL(u.URL) })
		k.answer.Dropped += all - len(urls)
		for _, u := range urls {
			u.BatchID = 0
		}
		store := k.storeSite
		if site == "" {
			store = k.storeElsewhere
		}
		if err := store(site, urls); err != nil {
			return err
		}
	}
	return nil
}

// storeSite stores links of one site.
func (k *receiving) storeSite(id string, urls []*wire.URL) error {
	f := &finishing{hold: hold{tx: k.tx}}
	err := f.lockAndLoadSite(id)
	recent := func(u *wire.URL) bool {
		found, known := u.CDate.Time()
		return known && k.Time.Sub(found) < SiteWait
	}
	if wire.CodeOf(err) == wire.CodeNotFound && !slices.ContainsFunc(urls, recent) {
		k.answer.Unknown = append(k.answer.Unknown, id)
		k.answer.Dropped += len(urls)
		return nil
	}
	if err != nil {
		return err
	}
	rules, err := f.linkRules()
	if err != nil {
		return err
	}
	f.removes = rules.RemoveMost > 0
	g := &linkGroup{rules: rules}
	for _, u := range urls {
		l := &wire.Link{URL: *u}
		if k.IsForeign(l) {
			f.away = append(f.away, &l.URL)
			continue
		}
		m, _ := f.linkOf(u.URLMd5)
		m.freq += u.Freq
		g.links = append(g.links, l)
	}
	if err := f.QueueLinks(f.site, f.away); err != nil {
		return err
	}
	k.answer.Passed += len(f.away)
	if len(g.links) > 0 {
		if err := f.keepGroup(g); err != nil {
			return err
		}
	}
	k.addCounts(f)
	if err := f.keepFreq(); err != nil {
		return err
	}
	if f.full != 0 {
		if err := f.TouchSite(f.site, f.full); err != nil {
			return err
		}
	}
	k.done = append(k.done, f)
	return nil
}

// addCounts adds what became of the links of a site to the answer.
func (k *receiving) addCounts(f *finishing) {
	k.answer.Waiting += f.held
	k.answer.Dropped -= f.held
	for _, m := range f.links {
		switch {
		case m.fresh:
			k.answer.New++
		case m.has:
			k.answer.Known++
		default: // no room
			k.answer.Dropped++
		}
	}
}

// storeElsewhere stores links whose site this node chooses.
func (k *receiving) storeElsewhere(_ string, list []*wire.URL) error {
	e := urls.NewElsewhere(k.tx.urlTx)
	for _, u := range list {
		if err := e.AddLink(&wire.Link{URL: *u}, u.SiteSelect); err != nil {
			return err
		}
	}
	added, err := e.InsertAllLinks()
	k.answer.New += added
	k.answer.Dropped += e.Skipped
	k.answer.Passed += e.Away
	k.answer.Waiting += e.Waiting
	k.answer.Known += len(list) - added - e.Skipped - e.Waiting - e.Away
	return err
}

// linkRules reads the rules of the site's links.
func (f *finishing) linkRules() (*wire.LinkRules, error) {
	site := &wire.Site{}
	err := f.All("site_link_rules", []any{f.site}, tables.ScanPair(func(name, value string) {
		site.Properties = append(site.Properties, wire.SiteProperty{Name: name, Value: value})
	}))
	if err != nil {
		return nil, err
	}
	rules, errs := wire.ReadLinkRules(property.Of(site, nil).Lookup)
	f.saved.Refused = append(f.saved.Refused, errs...)
	return rules, nil
}

package index

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/blevesearch/bleve/v2"
	bsearch "github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"
	api "github.com/blevesearch/bleve_index_api"

	"hce/dc/internal/apps/search"
	words "hce/dc/internal/apps/search/query"
)

// window is how many results beyond the shown ones are looked at for duplicates.
const window = 40

// Run answers a question. It never fails: Reply.Error says what is wrong.
func (r *reader) Run(ctx context.Context, a search.Ask) search.Reply {
	var reply search.Reply
	var err error
	switch a.Op {
	case search.OpGet:
		reply, err = r.replyByUUID(a.UUID)
	case search.OpSearch:
		q, mistake := words.Parse(a.Text)
		if mistake != nil {
			return search.Reply{Error: mistake.Error(), Refused: true}
		}
		reply, err = r.findReply(ctx, a, q)
		reply.Words = q.String()
	default:
		return search.Reply{Error: fmt.Sprintf("operation %q is unknown", a.Op), Refused: true}
	}
	if err != nil {
		reply.Error = err.Error()
	}
	return reply
}

func (r *reader) replyByUUID(uuid string) (search.Reply, error) {
	d, found, err := r.Get(uuid)
	if err != nil || !found {
		return search.Reply{}, err
	}
	return search.Reply{Count: 1, Hits: []search.Hit{{Document: d}}, Copy: d.Copy}, nil
}

// findReply returns the results from Offset on. Duplicates are joined with the best of them.
func (r *reader) findReply(ctx context.Context, a search.Ask, q words.Query) (reply search.Reply, err error) {
	if !a.Kind.Valid() {
		return search.Reply{Error: fmt.Sprintf("kind %q is not one of pages, images, documents", a.Kind), Refused: true}, nil
	}
	offset, limit := max(0, min(a.Offset, search.MaxOffset)), max(1, min(a.Limit, search.MaxLimit))
	library, err := r.bleve.Advanced()
	if err != nil {
		return reply, fmt.Errorf("search: %w", err)
	}
	one, err := library.Reader()
	if err != nil {
		return reply, fmt.Errorf("search: %w", err)
	}
	defer one.Close()
	o := &opener{ctx: ctx, reader: one}
	defer o.close()
	all := wantedOf(a.Kind, q.Terms)
	found, total, exact, err := r.rankHits(o, a.Kind, q, all, max(offset+limit+window, reordered))
	if err != nil {
		return reply, fmt.Errorf("search: %w", err)
	}
	found = found[:min(len(found), offset+limit+window)]
	groups, err := o.joinDuplicates(found)
	if err != nil {
		return reply, fmt.Errorf("search: %w", err)
	}
	joined := len(found) - len(groups)
	reply = search.Reply{Count: total - joined, About: !exact || total > len(found), Hits: []search.Hit{}}
	if offset < len(groups) {
		reply.Hits, err = r.readHits(o, a.Kind, all, groups[offset:min(len(groups), offset+limit)])
	}
	return reply, err
}

// rankHits returns the best results, best first, and how many there are.
func (r *reader) rankHits(o *opener, kind search.Kind, q words.Query, all []wanted, keep int) (found hits, total int, exact bool, err error) {
	documents, err := o.reader.TermFieldReader(o.ctx, []byte(kind), fieldKind, false, false, false)
	if err != nil {
		return nil, 0, false, err
	}
	o.opened = append(o.opened, documents)
	k := &ranking{keep: keep}
	if err := k.openLists(o, kind, all, int(documents.Count())); err != nil {
		return nil, 0, false, err
	}
	if terms, weights := titleTerms(q.Terms); len(terms) > 0 {
		if err := k.openTitle(o, kind, terms, weights); err != nil {
			return nil, 0, false, err
		}
	}
	if k.limits, err = r.openFilters(o, kind, q); err == nil {
		k.excluded, err = o.openExcluded(kind, q.Exclude)
	}
	if err == nil {
		err = k.collectTop(o.ctx)
	}
	if err != nil {
		return nil, 0, false, err
	}
	slices.SortFunc(k.top, func(a, b hit) int { return compareHits(b, a) })
	if err := reorderByCloseness(o, kind, all, k.rarity, k.top); err != nil {
		return nil, 0, false, err
	}
	total, exact = k.countMatches()
	return k.top, total, exact, nil
}

// openExcluded opens what documents must not have.
func (o *opener) openExcluded(kind search.Kind, list []words.Term) (all []cursor, err error) {
	for _, w := range wantedOf(kind, list) {
		for _, f := range fields {
			u, err := o.openWord(fieldNameOf(kind, f.name), f.name == fieldGrams, w, false)
			if err != nil {
				return nil, err
			}
			if u != nil {
				all = append(all, u)
			}
		}
	}
	return all, nil
}

// openFilters opens the filters of a question; nil without filters. A question without words is limited to
// its kind: otherwise the names of the fields do that.
func (r *reader) openFilters(o *opener, kind search.Kind, q words.Query) (cursor, error) {
	list := limitsOf(q)
	if len(q.Terms) == 0 {
		list = append(list, newTermQuery(fieldKind, string(kind)))
	}
	if len(list) == 0 {
		return nil, nil
	}
	s, err := bleve.NewConjunctionQuery(list...).Searcher(o.ctx, o.reader, r.bleve.Mapping(), bsearch.SearcherOptions{Score: "none"})
	if err != nil {
		return nil, err
	}
	o.ends = append(o.ends, s.Close)
	f := &filter{searcher: s, ctx: &bsearch.SearchContext{DocumentMatchPool: bsearch.NewDocumentMatchPool(s.DocumentMatchPoolSize()+2, 0)}}
	return f, f.setMatch(s.Next(f.ctx))
}

// filter is a cursor of the library's own filters.
type filter struct {
	cursor   // the methods that a filter does not have
	searcher bsearch.Searcher
	ctx      *bsearch.SearchContext
	doc      uint64
}

func (f *filter) currentDoc() uint64 { return f.doc }

func (f *filter) seek(doc uint64) error {
	if f.doc >= doc {
		return nil
	}
	return f.setMatch(f.searcher.Advance(f.ctx, api.NewIndexInternalID(nil, doc)))
}

func (f *filter) setMatch(m *bsearch.DocumentMatch, err error) error {
	if f.doc = noMore; m != nil && err == nil {
		f.doc = m.IndexInternalID.Value()
		f.ctx.DocumentMatchPool.Put(m)
	}
	return err
}

// limitsOf returns the filters of sites and dates.
func limitsOf(q words.Query) (all []query.Query) {
	var sites []query.Query
	for _, name := range q.Sites {
		sites = append(sites, newTermQuery(fieldSites, name))
	}
	if len(sites) > 0 {
		all = append(all, bleve.NewDisjunctionQuery(sites...))
	}
	if !q.Before.IsZero() || !q.After.IsZero() {
		var from, to *float64
		if !q.After.IsZero() {
			from = new(float64(q.After.Unix()))
		}
		if !q.Before.IsZero() {
			to = new(float64(q.Before.Unix()))
		}
		dates := bleve.NewNumericRangeQuery(from, to)
		dates.SetField(fieldDate)
		all = append(all, dates)
	}
	return all
}

func newTermQuery(field, text string) *query.TermQuery {
	q := bleve.NewTermQuery(text)
	q.SetField(field)
	return q
}

// group is a result and its duplicates.
type group struct {
	hit
	id     string
	copies []string
}

// joinDuplicates collects the hits with the same content, in the order of the best of them.
func (o *opener) joinDuplicates(found hits) (groups []group, err error) {
	hashes, err := o.readHashes(found)
	if err != nil {
		return nil, err
	}
	known := map[string]int{}
	for _, h := range found {
		id, err := o.reader.ExternalID(api.NewIndexInternalID(nil, h.doc))
		if err != nil {
			return nil, err
		}
		hash := cmp.Or(hashes[h.doc], id)
		if i, again := known[hash]; again {
			groups[i].copies = append(groups[i].copies, id)
			continue
		}
		known[hash] = len(groups)
		groups = append(groups, group{hit: h, id: id})
	}
	return groups, nil
}

// readHashes reads the hashes of contents in the order of the index: others read each part several times.
func (o *opener) readHashes(found hits) (map[uint64]string, error) {
	values, err := o.reader.DocValueReader([]string{fieldHash})
	if err != nil {
		return nil, err
	}
	hashes := map[uint64]string{}
	for _, doc := range found.sortedDocs() {
		err := values.VisitDocValues(api.NewIndexInternalID(nil, doc), func(_ string, value []byte) { hashes[doc] = string(value) })
		if err != nil {
			return nil, err
		}
	}
	return hashes, nil
}

// readHits reads the documents of groups, and where the words of the question are in them.
func (r *reader) readHits(o *opener, kind search.Kind, all []wanted, groups []group) ([]search.Hit, error) {
	var shown hits
	for _, g := range groups {
		shown = append(shown, g.hit)
	}
	places, err := spotsOf(o, fieldNameOf(kind, fieldBody), all, shown.sortedDocs())
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	list := []search.Hit{}
	for _, g := range groups {
		d, found, err := r.Get(g.id)
		if err != nil {
			return nil, fmt.Errorf("read document %s: %w", g.id, err)
		}
		if found {
			excerpt := excerptOf(cmp.Or(d.Text, d.Description), slices.Concat(places[g.doc]...))
			d.Text, d.Copy = "", ""
			list = append(list, search.Hit{Document: d, Score: g.score, Excerpt: excerpt, Copies: g.copies})
		}
	}
	return list, nil
}

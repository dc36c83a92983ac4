package index

import (
	"cmp"
	"context"
	"fmt"

	"github.com/blevesearch/bleve/v2"
	bsearch "github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"

	"hce/dc/internal/search"
	words "hce/dc/internal/search/query"
)

// Weights of fields.
const (
	titleWeight = 3
	aboutWeight = 1.5
	nameWeight  = 3
	phraseTimes = 5 // a phrase says more than a word
)

// window is how many results beyond the shown ones are looked at for duplicates.
const window = 40

// Run answers a question. It never fails: Reply.Error says what is wrong.
func (r *reader) Run(ctx context.Context, a search.Ask) search.Reply {
	var reply search.Reply
	var err error
	switch a.Op {
	case search.OpGet:
		reply, err = r.get(a.UUID)
	case search.OpSearch:
		q, mistake := words.Parse(a.Text)
		if mistake != nil {
			return search.Reply{Error: mistake.Error(), Refused: true}
		}
		reply, err = r.find(ctx, a, q)
		reply.Words = q.String()
	default:
		return search.Reply{Error: fmt.Sprintf("operation %q is unknown", a.Op), Refused: true}
	}
	if err != nil {
		reply.Error = err.Error()
	}
	return reply
}

func (r *reader) get(uuid string) (search.Reply, error) {
	d, found, err := r.Get(uuid)
	if err != nil || !found {
		return search.Reply{}, err
	}
	return search.Reply{Count: 1, Hits: []search.Hit{{Document: d}}, Copy: d.Copy}, nil
}

// find returns the results from Offset on. Duplicates are joined with the best of them.
func (r *reader) find(ctx context.Context, a search.Ask, q words.Query) (search.Reply, error) {
	if !a.Kind.Valid() {
		return search.Reply{Error: fmt.Sprintf("kind %q is not one of pages, images, documents", a.Kind), Refused: true}, nil
	}
	offset, limit := max(0, min(a.Offset, search.MaxOffset)), max(1, min(a.Limit, search.MaxLimit))
	hits, total, err := r.ranked(ctx, a.Kind, q, offset+limit+window)
	if err != nil {
		return search.Reply{}, fmt.Errorf("search: %w", err)
	}
	hashes, err := r.hashes(ctx, hits)
	if err != nil {
		return search.Reply{}, fmt.Errorf("search: %w", err)
	}
	groups := join(hits, hashes)
	joined := len(hits) - len(groups)
	reply := search.Reply{Count: total - joined, About: total > len(hits), Hits: []search.Hit{}}
	if offset >= len(groups) {
		return reply, nil
	}
	reply.Hits, err = r.hits(ctx, a.Kind, q, groups[offset:min(len(groups), offset+limit)])
	return reply, err
}

// ranked returns the best results and how many there are. With several words, those that have all come
// first; the others are ranked only if there is room for them.
func (r *reader) ranked(ctx context.Context, kind search.Kind, q words.Query, most int) (hits bsearch.DocumentMatchCollection, total int, err error) {
	run := func(wanted query.Query, size int) (*bleve.SearchResult, error) {
		request := bleve.NewSearchRequestOptions(r.limited(kind, q, wanted), size, 0, false)
		if size == 0 {
			request.Score = "none"
		}
		return r.bleve.SearchInContext(ctx, request)
	}
	terms := r.terms(kind, q.Terms)
	if len(terms) == 0 {
		terms = []query.Query{term(fieldKind, string(kind))}
	}
	first, err := run(bleve.NewConjunctionQuery(terms...), most)
	if err != nil || len(terms) == 1 {
		return hitsOf(first), totalOf(first), err
	}
	either := bleve.NewDisjunctionQuery(terms...)
	if len(first.Hits) == most {
		count, err := run(either, 0)
		return first.Hits, totalOf(count), err
	}
	second, err := run(either, most)
	if err != nil {
		return nil, 0, err
	}
	known := map[string]bool{}
	for _, hit := range first.Hits {
		known[hit.ID] = true
	}
	hits = first.Hits
	for _, hit := range second.Hits {
		if !known[hit.ID] && len(hits) < most {
			hits = append(hits, hit)
		}
	}
	return hits, totalOf(second), nil
}

func hitsOf(r *bleve.SearchResult) bsearch.DocumentMatchCollection {
	if r == nil {
		return nil
	}
	return r.Hits
}

func totalOf(r *bleve.SearchResult) int {
	if r == nil {
		return 0
	}
	return int(r.Total)
}

// hashes returns the hashes of the contents of hits. To sort all results by them would read them for
// each.
func (r *reader) hashes(ctx context.Context, hits bsearch.DocumentMatchCollection) (map[string]string, error) {
	var ids []string
	for _, hit := range hits {
		ids = append(ids, hit.ID)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	request := bleve.NewSearchRequestOptions(bleve.NewDocIDQuery(ids), len(ids), 0, false)
	request.SortBy([]string{fieldHash})
	request.Score = "none"
	result, err := r.bleve.SearchInContext(ctx, request)
	if err != nil {
		return nil, err
	}
	hashes := map[string]string{}
	for _, hit := range result.Hits {
		if len(hit.Sort) > 0 {
			hashes[hit.ID] = hit.Sort[0]
		}
	}
	return hashes, nil
}

// group is a result and its duplicates.
type group struct {
	id     string
	score  float64
	copies []string
}

// join collects the hits with the same content, in the order of the best of them.
func join(hits bsearch.DocumentMatchCollection, hashes map[string]string) (groups []group) {
	at := map[string]int{}
	for _, hit := range hits {
		hash := cmp.Or(hashes[hit.ID], hit.ID)
		if i, known := at[hash]; known {
			groups[i].copies = append(groups[i].copies, hit.ID)
			continue
		}
		at[hash] = len(groups)
		groups = append(groups, group{id: hit.ID, score: hit.Score})
	}
	return groups
}

// hits reads the documents of groups, and where the words of the question are in them.
func (r *reader) hits(ctx context.Context, kind search.Kind, q words.Query, groups []group) ([]search.Hit, error) {
	var ids []string
	for _, g := range groups {
		ids = append(ids, g.id)
	}
	inBody := bleve.NewDisjunctionQuery()
	for _, t := range q.Terms {
		for _, terms := range r.variants(t.Text) {
			inBody.AddQuery(sequence(of(kind, fieldBody), terms, 1))
		}
	}
	request := bleve.NewSearchRequestOptions(bleve.NewConjunctionQuery(bleve.NewDocIDQuery(ids), inBody), len(ids), 0, false)
	request.IncludeLocations = true
	located, err := r.bleve.SearchInContext(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	places := map[string]bsearch.FieldTermLocationMap{}
	for _, hit := range located.Hits {
		places[hit.ID] = hit.Locations
	}
	list := []search.Hit{}
	for _, g := range groups {
		d, found, err := r.Get(g.id)
		if err != nil {
			return nil, fmt.Errorf("read document %s: %w", g.id, err)
		}
		if found {
			excerpt := excerptOf(cmp.Or(d.Text, d.Description), places[g.id][of(kind, fieldBody)])
			d.Text, d.Copy = "", ""
			list = append(list, search.Hit{Document: d, Score: g.score, Excerpt: excerpt, Copies: g.copies})
		}
	}
	return list, nil
}

// limited adds to what is wanted what is excluded, and the filters, which have no part in the rank. The
// kind needs no filter: its fields have names of their own.
func (r *reader) limited(kind search.Kind, q words.Query, wanted query.Query) query.Query {
	limits := limitsOf(q)
	if len(limits) == 0 && len(q.Exclude) == 0 {
		return wanted
	}
	b := bleve.NewBooleanQuery()
	b.AddMust(wanted)
	if len(limits) > 0 {
		b.AddFilter(bleve.NewConjunctionQuery(limits...))
	}
	if len(q.Exclude) > 0 {
		b.AddMustNot(r.terms(kind, q.Exclude)...)
	}
	return b
}

// limitsOf returns the filters of sites and dates.
func limitsOf(q words.Query) (all []query.Query) {
	var sites []query.Query
	for _, name := range q.Sites {
		sites = append(sites, term(fieldSites, name))
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

// terms returns one query for each word or phrase.
func (r *reader) terms(kind search.Kind, list []words.Term) (queries []query.Query) {
	for _, t := range list {
		queries = append(queries, r.term(kind, t))
	}
	return queries
}

// fieldWeights are the fields in which words are looked for.
var fieldWeights = []struct {
	name   string
	weight float64
}{{fieldTitle, titleWeight}, {fieldAbout, aboutWeight}, {fieldBody, 1}, {fieldName, nameWeight}}

// term finds a word or a phrase in any field, in the form of any language.
func (r *reader) term(kind search.Kind, t words.Term) query.Query {
	any := bleve.NewDisjunctionQuery()
	weight := 1.0
	if t.Phrase {
		weight = phraseTimes
	}
	for _, terms := range r.variants(t.Text) {
		for _, f := range fieldWeights {
			any.AddQuery(sequence(of(kind, f.name), terms, weight*f.weight))
		}
	}
	if g := grams.Analyze(grams{}, []byte(t.Text)); len(g) > 0 && !t.Phrase && kind != search.Pages {
		var terms []string
		for _, token := range g {
			terms = append(terms, string(token.Term))
		}
		any.AddQuery(sequence(of(kind, fieldGrams), terms, weight))
	}
	if len(any.Disjuncts) == 0 {
		return bleve.NewMatchNoneQuery()
	}
	return any
}

// sequence finds terms next to each other.
func sequence(field string, terms []string, weight float64) query.Query {
	if len(terms) == 1 {
		q := term(field, terms[0])
		q.SetBoost(weight)
		return q
	}
	q := query.NewPhraseQuery(terms, field)
	q.SetBoost(weight)
	return q
}

func term(field, text string) *query.TermQuery {
	q := bleve.NewTermQuery(text)
	q.SetField(field)
	return q
}

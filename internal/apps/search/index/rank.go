package index

import (
	"container/heap"
	"context"
	"math"
	"slices"

	"hce/dc/internal/apps/search"
)

// A field adds to the score of a word at most its weight. One occurrence in a field of usual length adds
// almost half of it.
type weighted struct {
	name   string
	weight float64
	usual  float64 // terms
}

var fields = []weighted{{fieldTitle, 1.5, 8}, {fieldAbout, 0.5, 30}, {fieldBody, 1, 400}, {fieldName, 1.5, 6}, {fieldGrams, 0.5, 20}}

const (
	saturation = 1.2  // of the frequency, as in BM25
	lengthPart = 0.75 // of the length of the field, as in BM25
	wholeTitle = 4    // times the rarity of all words: the question is the title
	allWords   = 1e4  // is added to the score of a document with all words
	allShare   = 0.95
	missed     = 4 // power of the share of words that a document has

	// exactCount is up to how many postings a question is counted exactly; above, documents that cannot
	// be among the best are skipped. maxVisited documents are looked at, at most.
	exactCount = 20_000
	maxVisited = 300_000
)

// list are the documents that have a word in a field.
type list struct {
	*union
	field int // of fields; of a title as a whole: -1
	word  int
	most  float64 // that it adds to a score
}

// ranking finds the best documents of a question, one document after the other. It is the algorithm
// MaxScore: lists that alone cannot lift a document among the best are read only where another list has
// a document. So words that are in all documents cost little.
type ranking struct {
	lists    []list // in the order of most
	rarity   []float64
	whole    float64 // rarity of all words together
	limits   cursor  // documents that may be found; nil: all
	excluded []cursor

	keep    int
	top     hits // a heap, worst first
	visited int
	matched int
	skipped bool // not all documents were looked at
}

// hit is a document of one reader and its score.
type hit struct {
	doc   uint64
	score float64
}

// hits are a heap; the first is the worst.
type hits []hit

func (h hits) Len() int           { return len(h) }
func (h hits) Less(a, b int) bool { return compareHits(h[a], h[b]) < 0 }
func (h hits) Swap(a, b int)      { h[a], h[b] = h[b], h[a] }
func (h *hits) Push(x any)        { *h = append(*h, x.(hit)) }
func (h *hits) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// sortedDocs returns the documents in the order of the index.
func (h hits) sortedDocs() []uint64 {
	docs := make([]uint64, len(h))
	for i, one := range h {
		docs[i] = one.doc
	}
	slices.Sort(docs)
	return docs
}

// compareHits orders hits: lower score first, then later document.
func compareHits(a, b hit) int {
	switch {
	case a.score < b.score, a.score == b.score && a.doc > b.doc:
		return -1
	case a == b:
		return 0
	}
	return 1
}

// openLists opens the lists of words.
func (k *ranking) openLists(o *opener, kind search.Kind, all []wanted, documents int) error {
	for n, w := range all {
		frequency := 0
		for i, f := range fields {
			u, err := o.openWord(fieldNameOf(kind, f.name), f.name == fieldGrams, w, false)
			if err != nil {
				return err
			}
			if u != nil {
				k.lists = append(k.lists, list{union: u, field: i, word: n})
				frequency = max(frequency, min(u.count(), documents))
			}
		}
		rarity := math.Log(1 + (float64(documents-frequency)+0.5)/(float64(frequency)+0.5))
		k.rarity = append(k.rarity, rarity)
		k.whole += rarity
	}
	for i := range k.lists {
		k.lists[i].most = k.rarity[k.lists[i].word] * fields[k.lists[i].field].weight
	}
	return nil
}

// openTitle opens the list of the documents whose title the question is.
func (k *ranking) openTitle(o *opener, kind search.Kind, terms []string, weights []float64) error {
	var found []cursor
	var known []float64
	for i, term := range terms {
		c, err := o.openTerm(fieldNameOf(kind, fieldWhole), term, false)
		if err != nil {
			return err
		}
		if c != nil {
			found, known = append(found, c), append(known, weights[i])
		}
	}
	if u := unionOf(found, known); u != nil {
		k.lists = append(k.lists, list{union: u, field: -1, word: -1, most: wholeTitle * k.whole})
	}
	return nil
}

// openWord opens all forms of a word in a field; nil if no document has one.
func (o *opener) openWord(field string, grams bool, w wanted, positions bool) (*union, error) {
	var list []cursor
	var weights []float64
	for _, f := range w {
		if f.grams != grams {
			continue
		}
		c, err := o.openForm(field, f, positions)
		if err != nil {
			return nil, err
		}
		if c != nil {
			list, weights = append(list, c), append(weights, f.weight)
		}
	}
	return unionOf(list, weights), nil
}

// collectTop fills top.
func (k *ranking) collectTop(ctx context.Context) error {
	slices.SortStableFunc(k.lists, func(a, b list) int { return compareFloats(a.most, b.most) })
	postings := 0
	for _, l := range k.lists {
		postings += l.count()
	}
	first, worst := 0, -1.0 // lists from first on lead to documents
	for doc := uint64(0); ; doc++ {
		if postings > exactCount && len(k.top) == k.keep && k.top[0].score > worst {
			worst = k.top[0].score
			for first < len(k.lists)-1 && k.possibleScore(k.lists[:first+1]) < worst {
				first++
			}
			k.skipped = k.skipped || first > 0
		}
		var err error
		if doc, err = k.nextCandidate(first, doc); err != nil || doc == noMore {
			return err
		}
		if k.visited++; k.visited > maxVisited {
			k.skipped = true
			return nil
		}
		if k.visited%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if worst >= 0 && k.promisedScore(first, doc) < worst {
			k.skipped = true
			continue
		}
		if err := k.scoreDocument(doc); err != nil {
			return err
		}
	}
}

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// nextCandidate returns the first document from doc on that one of the leading lists and the limits have.
func (k *ranking) nextCandidate(first int, doc uint64) (uint64, error) {
	for {
		next := uint64(noMore)
		for _, l := range k.lists[first:] {
			if err := l.seek(doc); err != nil {
				return noMore, err
			}
			next = min(next, l.currentDoc())
		}
		if len(k.lists) == 0 && k.limits != nil {
			next = doc
		}
		if k.limits == nil || next == noMore {
			return next, nil
		}
		if err := k.limits.seek(next); err != nil {
			return noMore, err
		}
		if doc = k.limits.currentDoc(); doc == next || doc == noMore {
			return doc, nil
		}
		if len(k.lists) == 0 {
			return doc, nil
		}
	}
}

// possibleScore is the score that a document can have that only some lists have.
func (k *ranking) possibleScore(some []list) float64 {
	sum := 0.0
	has := make([]bool, len(k.rarity))
	for _, l := range some {
		if sum += l.most; l.word >= 0 {
			has[l.word] = true
		}
	}
	return k.totalScore(sum, has)
}

// promisedScore is the score that a document can have, as far as the leading lists tell.
func (k *ranking) promisedScore(first int, doc uint64) float64 {
	if first == 0 {
		return math.Inf(1)
	}
	sum := 0.0
	has := make([]bool, len(k.rarity))
	for i, l := range k.lists {
		if i < first || l.currentDoc() == doc {
			if sum += l.most; l.word >= 0 {
				has[l.word] = true
			}
		}
	}
	return k.totalScore(sum, has)
}

// totalScore is the score of what words add to a document that has some of them.
func (k *ranking) totalScore(sum float64, has []bool) float64 {
	share := 0.0
	for n, is := range has {
		if is {
			share += k.rarity[n]
		}
	}
	if k.whole > 0 {
		share /= k.whole
	}
	if share >= allShare {
		return allWords + sum
	}
	return sum * math.Pow(share, missed)
}

// scoreDocument looks at a document.
func (k *ranking) scoreDocument(doc uint64) error {
	for _, c := range k.excluded {
		if err := c.seek(doc); err != nil {
			return err
		}
		if c.currentDoc() == doc {
			return nil
		}
	}
	k.matched++
	scores, best := make([]float64, len(k.rarity)), make([]float64, len(k.rarity))
	title := 0.0
	for _, l := range k.lists {
		if err := l.seek(doc); err != nil {
			return err
		}
		switch {
		case l.currentDoc() != doc:
		case l.field < 0:
			title = wholeTitle * k.whole * l.bestWeight()
		default:
			scores[l.word] += l.currentScore()
			best[l.word] = max(best[l.word], l.bestWeight())
		}
	}
	sum := title
	has := make([]bool, len(k.rarity))
	for n := range scores {
		sum += k.rarity[n] * scores[n] * best[n]
		has[n] = best[n] > 0
	}
	one := hit{doc, k.totalScore(sum, has)}
	switch {
	case len(k.top) < k.keep:
		heap.Push(&k.top, one)
	case compareHits(k.top[0], one) < 0:
		k.top[0] = one
		heap.Fix(&k.top, 0)
	}
	return nil
}

// currentScore is what the present document has from its field, up to the weight of the field.
func (l list) currentScore() float64 {
	f := fields[l.field]
	n := l.frequency()
	return f.weight * n / (n + saturation*(1-lengthPart+lengthPart*l.length()/f.usual))
}

// countMatches returns how many documents match; exact is false if it is an estimate.
func (k *ranking) countMatches() (n int, exact bool) {
	if n = k.matched; !k.skipped {
		return n, true
	}
	if k.limits == nil && len(k.excluded) == 0 {
		for _, l := range k.lists {
			n = max(n, l.count())
		}
	}
	return n, false
}

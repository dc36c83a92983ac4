package index

import (
	"cmp"
	"math"
	"slices"

	"hce/dc/internal/apps/search"
)

const (
	// reordered is how many of the best documents are ordered by how close the words are.
	reordered = 200
	farthest  = 12  // words are not close any more
	backwards = 0.7 // for words in another order
)

// near are the fields in which close words count, and how much.
var near = []struct {
	field  string
	weight float64
}{{fieldTitle, 0.8}, {fieldAbout, 0.4}, {fieldBody, 0.8}}

// reorderByCloseness adds to the scores of the first hits that the words of the question are close to each other
// there, and sorts them again.
func reorderByCloseness(o *opener, kind search.Kind, all []wanted, rarity []float64, found hits) error {
	if len(all) < 2 {
		return nil
	}
	first := found[:min(len(found), reordered)]
	docs := first.sortedDocs()
	closer := map[uint64]float64{}
	for _, f := range near {
		places, err := spotsOf(o, fieldNameOf(kind, f.field), all, docs)
		if err != nil {
			return err
		}
		for doc, words := range places {
			closer[doc] += f.weight * sumCloseness(words, rarity)
		}
	}
	for i, h := range first {
		first[i].score += closer[h.doc]
	}
	slices.SortFunc(first, func(a, b hit) int { return compareHits(b, a) })
	return nil
}

// spotsOf returns where each word is in a field of documents, which are in ascending order.
func spotsOf(o *opener, field string, all []wanted, docs []uint64) (map[uint64][][]spot, error) {
	places := map[uint64][][]spot{}
	for n, w := range all {
		u, err := o.openWord(field, false, w, true)
		if err != nil {
			return nil, err
		}
		for _, doc := range docs {
			if u == nil {
				break
			}
			if err := u.seek(doc); err != nil {
				return nil, err
			}
			if u.currentDoc() != doc {
				continue
			}
			if places[doc] == nil {
				places[doc] = make([][]spot, len(all))
			}
			list := u.appendSpots(nil)
			slices.SortFunc(list, func(a, b spot) int { return cmp.Or(a.position-b.position, a.start-b.start) })
			places[doc][n] = list
		}
	}
	return places, nil
}

// sumCloseness adds up how close each two neighbours of the question are, times the rarity of the more
// frequent one.
func sumCloseness(words [][]spot, rarity []float64) (sum float64) {
	for n := 1; n < len(words); n++ {
		sum += min(rarity[n-1], rarity[n]) * bestCloseness(words[n-1], words[n])
	}
	return sum
}

// bestCloseness is 1 for a place of a directly before one of b, less for others, and 0 for far ones.
func bestCloseness(a, b []spot) (best float64) {
	j := 0
	for _, s := range a {
		for j < len(b) && b[j].position < s.position-farthest {
			j++
		}
		for _, t := range b[j:] {
			distance := t.position - s.position
			if distance > farthest {
				break
			}
			if distance == 0 {
				continue
			}
			value := 2 / (1 + math.Abs(float64(distance)))
			if distance < 0 {
				value *= backwards
			}
			best = max(best, value)
		}
		if best == 1 {
			break
		}
	}
	return best
}

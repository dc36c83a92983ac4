package index

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"hce/dc/internal/search"
)

// graded is a question and how good its answers are, by URL: 3 the page that is meant, 1 one that says
// something about it.
type graded struct {
	Question string
	Grades   map[string]int
}

// quality is how good the answers to a set of questions are.
type quality struct {
	questions int
	first     int     // the first result has the best grade
	gain      float64 // normalised discounted cumulative gain of ten results, summed up
}

func (q quality) firstShare() float64 { return float64(q.first) / float64(max(1, q.questions)) }
func (q quality) meanGain() float64   { return q.gain / float64(max(1, q.questions)) }

// add counts the URLs that a question found, best first.
func (q *quality) add(g graded, found []string) {
	var ideal []int
	for _, grade := range g.Grades {
		ideal = append(ideal, grade)
	}
	slices.SortFunc(ideal, func(a, b int) int { return cmp.Compare(b, a) })
	most, gain := 0.0, 0.0
	for i := range 10 {
		weight := 1 / math.Log2(float64(i)+2)
		if i < len(ideal) {
			most += weight * (math.Exp2(float64(ideal[i])) - 1)
		}
		if i < len(found) {
			gain += weight * (math.Exp2(float64(g.Grades[found[i]])) - 1)
		}
	}
	q.questions++
	q.gain += gain / most
	if len(found) > 0 && g.Grades[found[0]] == ideal[0] {
		q.first++
	}
}

// measure asks an index.
func measure(t testing.TB, r *reader, list []graded) (q quality) {
	t.Helper()
	for _, g := range list {
		reply := r.Run(t.Context(), search.Ask{Op: search.OpSearch, Kind: search.Pages, Text: g.Question, Limit: 10})
		if reply.Error != "" {
			t.Fatalf("%s: %s", g.Question, reply.Error)
		}
		var found []string
		for _, h := range reply.Hits {
			found = append(found, h.URL)
		}
		before := q.first
		if q.add(g, found); q.first == before && testing.Verbose() {
			t.Logf("%s: %v, want %v", g.Question, found[:min(len(found), 3)], g.Grades)
		}
	}
	return q
}

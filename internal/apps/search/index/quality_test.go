package index

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/apps/search"
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

var numbered = regexp.MustCompile(`^(\p{L}+ )?[\p{L}\d]+(\.\d+)*\.\s+`)

// askedFor returns what people may ask for a page: its title, the title without accents and in another
// order; three words of its text with one of its title; and six words of its text.
func askedFor(random *rand.Rand, keys []key, pages []search.Document, i int) []graded {
	p := pages[i]
	title := strings.Fields(titleKey(numbered.ReplaceAllString(p.Title, "")))
	text := strings.Fields(titleKey(p.Text))
	if len(title) < 2 || len(title) > 10 || len(text) < 40 {
		return nil
	}
	at := 10 + random.IntN(len(text)-20)
	three, six := strings.Join(text[at:at+3], " "), strings.Join(text[at:at+6], " ")
	return []graded{
		titled(keys, pages, i, strings.Join(title, " ")),
		titled(keys, pages, i, foldAccents(strings.Join(title, " "))),
		titled(keys, pages, i, strings.Join(append(slices.Clone(title[1:]), title[0]), " ")),
		quoted(keys, pages, three, three+" "+title[0]),
		quoted(keys, pages, six, six),
	}
}

// key is what a page is compared by.
type key struct{ title, text string }

func keysOf(pages []search.Document) (list []key) {
	for _, p := range pages {
		list = append(list, key{foldAccents(titleKey(numbered.ReplaceAllString(p.Title, ""))), " " + foldAccents(titleKey(p.Text)) + " "})
	}
	return list
}

// titled grades the answers to a question for a title: all pages with this title have 3, those with all
// words in their title 1.
func titled(keys []key, pages []search.Document, i int, question string) graded {
	g := graded{question, map[string]int{}}
	for n, k := range keys {
		switch {
		case k.title == keys[i].title, k.text == keys[i].text:
			g.Grades[pages[n].URL] = 3
		case hasAll(k.title, foldAccents(titleKey(question))):
			g.Grades[pages[n].URL] = 1
		}
	}
	return g
}

// quoted grades the answers to a question for words of the text: of the pages that have them next to each other, and the
// other words of the question too, the shortest one of each language has 3, for translations leave some texts as they are;
// others with the words next to each other have 2.
func quoted(keys []key, pages []search.Document, phrase, question string) graded {
	g := graded{question, map[string]int{}}
	words := foldAccents(titleKey(question))
	best := map[string]int{}
	for n, k := range keys {
		if !strings.Contains(k.text, " "+foldAccents(phrase)+" ") {
			continue
		}
		g.Grades[pages[n].URL] = 2
		if old, found := best[pages[n].Language]; hasAll(k.title+k.text, words) && (!found || len(k.text) < len(keys[old].text)) {
			best[pages[n].Language] = n
		}
	}
	for n, k := range keys {
		if i, found := best[pages[n].Language]; found && k.text == keys[i].text {
			g.Grades[pages[n].URL] = 3
		}
	}
	return g
}

func hasAll(text, words string) bool {
	for w := range strings.FieldsSeq(words) {
		if !strings.Contains(" "+text+" ", " "+w+" ") {
			return false
		}
	}
	return true
}

// TestQuality asks 150 questions about pages of five languages that say similar things. Its floors hold
// what the ranking reaches; make bench-search asks more of them, about larger documents.
func TestQuality(t *testing.T) {
	var pages []search.Document
	for _, language := range []string{"en", "de", "es", "fr", "ru"} {
		raw, err := os.ReadFile(filepath.Join("testdata", "quality", language+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var list []struct{ Title, Text string }
		if err := json.Unmarshal(raw, &list); err != nil {
			t.Fatal(err)
		}
		for i, p := range list {
			pages = append(pages, search.Document{Kind: search.Pages, URL: fmt.Sprintf("http://%s.example/%d", language, i), Language: language, Title: p.Title, Text: p.Text})
		}
	}
	x := emptyIndex(t)
	if err := x.Apply(Change{Put: pages}); err != nil {
		t.Fatal(err)
	}
	keys, random := keysOf(pages), rand.New(rand.NewPCG(3, 4))
	forms := map[string][]graded{}
	for i := range pages {
		for n, g := range askedFor(random, keys, pages, i) {
			name := []string{"title", "without accents", "another order", "mixed", "words of the text"}[n]
			forms[name] = append(forms[name], g)
		}
	}
	for name, floor := range map[string]float64{"title": 1, "without accents": 1, "another order": 1, "mixed": 0.95, "words of the text": 1} {
		q := measure(t, &x.reader, forms[name])
		if t.Logf("%s: %d questions, first %.3f, gain %.3f", name, q.questions, q.firstShare(), q.meanGain()); q.questions != 30 || q.firstShare() < floor || q.meanGain() < floor {
			t.Errorf("%s: first %.3f, gain %.3f of %d questions; the floor is %.3f", name, q.firstShare(), q.meanGain(), q.questions, floor)
		}
	}
}

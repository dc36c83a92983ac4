package processor

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/apps/search"
	"hce/dc/internal/apps/search/index"
)

// corpus generates pages like those of the web: words of several languages, with the frequencies of
// Zipf's law. It is the same in each run.
type corpus struct {
	random *rand.Rand
	tongue []tongue
}

type tongue struct {
	code  string
	words []string
	zipf  *rand.Zipf
}

// syllables of the languages; words of them look like words, and have endings that stemmers know.
var syllables = []struct{ code, starts, ends string }{
	{"en", "tra ver com pro str un re in cal mor den fl gre hol pen sta win", "ing ed s er tion ly ness ment al ize"},
	{"de", "ge ver be auf schl wass haus str gr fen kl tag berg wind rau", "en er ung heit keit lich isch es e ern"},
	{"es", "ca ma tri con per des lla pue sol ven gra mu ro que ta", "ción ado idad mente os as ar er ir ista"},
	{"fr", "mai por che lou ver grand tra pein cou sau vil fleu nou mon", "tion ment eur ées aux er ir able ique esse"},
	{"ru", "го ре вод пол ста мор лес дом тра вер кра све пре", "ами ость ение ого ать ный ский ки ов ть"},
}

func newCorpus(vocabulary int) *corpus {
	c := &corpus{random: rand.New(rand.NewPCG(1, 2))}
	for _, s := range syllables {
		t := tongue{code: s.code, zipf: rand.NewZipf(c.random, 1.1, 2.7, uint64(vocabulary-1))}
		starts, ends := strings.Fields(s.starts), strings.Fields(s.ends)
		known := map[string]bool{}
		for len(t.words) < vocabulary {
			var b strings.Builder
			for range 1 + c.random.IntN(3) {
				b.WriteString(starts[c.random.IntN(len(starts))])
			}
			b.WriteString(ends[c.random.IntN(len(ends))])
			if word := b.String(); !known[word] {
				known[word] = true
				t.words = append(t.words, word)
			} else if c.random.IntN(4) == 0 { // the short words are used up
				t.words = append(t.words, fmt.Sprint(word, len(t.words)))
			}
		}
		c.tongue = append(c.tongue, t)
	}
	return c
}

// page returns page n, of about 300 words.
func (c *corpus) page(n int) search.Document {
	t := c.tongue[c.random.IntN(len(c.tongue))]
	words := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = t.words[t.zipf.Uint64()]
		}
		return strings.Join(list, " ")
	}
	return search.Document{
		Kind: search.Pages, URL: fmt.Sprintf("http://h%d.%s.example/%d.html", n%500, t.code, n), Language: t.code, Title: words(3 + c.random.IntN(4)),
		Description: words(8), Text: words(100 + c.random.IntN(400)), Date: time.Unix(1_500_000_000+int64(n)*1000, 0), Hash: fmt.Sprint(n), Seen: time.Unix(1_770_000_000, 0),
	}
}

// knownItem is a question for one page: a word of its title and a phrase that is in few pages.
type knownItem struct{ question, url string }

func (c *corpus) known(d search.Document) knownItem {
	title, text := strings.Fields(d.Title), strings.Fields(d.Text)
	at := c.random.IntN(len(text) - 4)
	return knownItem{title[c.random.IntN(len(title))] + ` "` + strings.Join(text[at:at+4], " ") + `"`, d.URL}
}

// fill indexes n pages and returns questions for some of them.
func (c *corpus) fill(t testing.TB, x *index.Index, n, questions int) (list []knownItem) {
	t.Helper()
	for at := 0; at < n; {
		var change index.Change
		for ; len(change.Put) < 500 && at < n; at++ {
			d := c.page(at)
			if at%max(1, n/questions) == 0 && len(list) < questions {
				list = append(list, c.known(d))
			}
			change.Put = append(change.Put, d)
		}
		if err := x.Apply(change); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Publish(); err != nil {
		t.Fatal(err)
	}
	return list
}

// first counts the questions whose page is the first result.
func first(t testing.TB, ask func(search.Ask) search.Reply, list []knownItem) (n int) {
	t.Helper()
	for _, k := range list {
		r := ask(search.Ask{Op: search.OpSearch, Kind: search.Pages, Text: k.question, Limit: 10})
		if r.Error != "" {
			t.Fatalf("%s: %s", k.question, r.Error)
		}
		if len(r.Hits) > 0 && r.Hits[0].URL == k.url {
			n++
		}
	}
	return n
}

// The page that a word of its title and a rare phrase name is the first result, in at least 95 % of
// 200 questions.
func TestKnownItems(t *testing.T) {
	x, _ := newIndex(t)
	list := newCorpus(5_000).fill(t, x, 400, 200)
	n := first(t, func(a search.Ask) search.Reply { return x.Run(t.Context(), a) }, list)
	if t.Logf("%d of %d first", n, len(list)); len(list) != 200 || n < 190 {
		t.Errorf("%d of %d pages are first", n, len(list))
	}
}

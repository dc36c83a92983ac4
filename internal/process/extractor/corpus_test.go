package extractor

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"hce/dc/internal/process/article"
)

// sample is a page of testdata/corpus. All pages and texts are written for this project.
type sample struct {
	name  string
	html  []byte
	Kind  string // news, blog, docs, forum, shop, recipe, table, list, old, broken
	Title string
	Text  string // the article: without its title, captions, author, date and what is around it

	Author string // "": the page names none
	Date   string // "": the mark-up of the page states none
}

func corpus(t testing.TB) (all []sample) {
	t.Helper()
	names, err := filepath.Glob("testdata/corpus/*.json")
	if err != nil || len(names) < 60 {
		t.Fatalf("%d pages, %v", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s := sample{name: strings.TrimSuffix(filepath.Base(name), ".json")}
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(name, err)
		}
		if s.html, err = os.ReadFile(strings.TrimSuffix(name, ".json") + ".html"); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// tokens splits a text into words. In scripts without spaces each character is a word.
func tokens(text string) (list []string) {
	word := ""
	end := func() {
		if word != "" {
			list = append(list, strings.ToLower(word))
		}
		word = ""
	}
	for _, c := range text {
		switch {
		case unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana):
			end()
			list = append(list, string(c))
		case unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c):
			word += string(c)
		default:
			end()
		}
	}
	end()
	return list
}

// shingles returns how often each sequence of n words occurs. A shorter text is one sequence.
func shingles(text string, n int) map[string]int {
	words := tokens(text)
	n = max(1, min(n, len(words)))
	counts := map[string]int{}
	for i := 0; i+n <= len(words); i++ {
		counts[strings.Join(words[i:i+n], " ")]++
	}
	return counts
}

// score is how well a text agrees with another one.
type score struct{ precision, recall float64 }

func compare(got, want string, n int) score {
	have, need := shingles(got, n), shingles(want, n)
	common, all, needed := 0, 0, 0
	for s, count := range have {
		common += min(count, need[s])
		all += count
	}
	for _, count := range need {
		needed += count
	}
	return score{float64(common) / float64(max(1, all)), float64(common) / float64(max(1, needed))}
}

func (s score) f1() float64 {
	if s.precision+s.recall == 0 {
		return 0
	}
	return 2 * s.precision * s.recall / (s.precision + s.recall)
}

// The models are trained with these pages, among 3,000 others: the floors say that nothing was broken, not how good the choice
// is on other pages (docs/models.md does).
//
// floors are the least F1 of words and of sequences of four words that each extractor must
// reach, as means of all pages.
var floors = map[string][2]float64{
	Scrapy:    {0.93, 0.92},
	Goose:     {0.975, 0.97},
	Newspaper: {0.98, 0.975},
	ML:        {0.965, 0.955},
	PlainText: {0.82, 0.81},
}

// The extractors find the texts of the corpus. `make judges` prints the table.
func TestCorpus(t *testing.T) {
	pages := corpus(t)
	for _, name := range All() {
		words, four, kinds := 0.0, score{}, map[string][]float64{}
		f1 := 0.0
		for _, s := range pages {
			found, err := newExtractor(name, Options{}).Extract(t.Context(), article.NewPage(s.html, "https://site.example/page.html", ""))
			if err != nil {
				t.Errorf("%s: %s: %v", name, s.name, err)
			}
			text := ""
			for _, tag := range found.Tags {
				if tag.Name == "content_encoded" {
					text = tag.Data[0]
				}
			}
			one, four4 := compare(text, s.Text, 1), compare(text, s.Text, 4)
			words += one.f1()
			f1 += four4.f1()
			four.precision += four4.precision
			four.recall += four4.recall
			kinds[s.Kind] = append(kinds[s.Kind], four4.f1())
			if one.recall < 0.5 && name == Newspaper {
				t.Errorf("%s lost most of %s: %q", name, s.name, text)
			}
			if os.Getenv("HCE_CORPUS") == name && four4.f1() < 0.995 {
				fmt.Printf("%.3f %s p %.3f r %.3f\n%s\n", four4.f1(), s.name, four4.precision, four4.recall, difference(text, s.Text))
			}
		}
		n := float64(len(pages))
		t.Logf("judge: %-18s F1 of words %.3f, of four words %.3f (precision %.3f, recall %.3f), %d pages", name, words/n, f1/n, four.precision/n, four.recall/n, len(pages))
		if words/n < floors[name][0] || f1/n < floors[name][1] {
			t.Errorf("%s: F1 %.3f and %.3f, below the floors %v", name, words/n, f1/n, floors[name])
		}
	}
}

// difference lists the lines of got that want does not have, and the other way round.
func difference(got, want string) string {
	var b strings.Builder
	for _, side := range []struct{ sign, a, b string }{{"  + ", got, want}, {"  - ", want, got}} {
		for line := range strings.SplitSeq(side.a, "\n") {
			if !strings.Contains(strings.Join(tokens(side.b), " "), strings.Join(tokens(line), " ")) {
				fmt.Fprintf(&b, "%s%.150s\n", side.sign, line)
			}
		}
	}
	return b.String()
}

// The default finds titles, authors and dates, and takes nothing else for an author.
func TestMetadataOfTheCorpus(t *testing.T) {
	var found, of struct{ titles, authors, dates int }
	for _, s := range corpus(t) {
		a, err := article.Extract(s.html, "https://site.example/page.html")
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		count := func(name, got, want string, right, all *int) {
			if want == "" && name != "author" {
				return
			}
			*all++
			switch {
			case got == want:
				*right++
			case name == "author" && got != "":
				t.Errorf("%s: author %q, want %q", s.name, got, want)
			default:
				t.Logf("%s: %s %q, want %q", s.name, name, got, want)
			}
		}
		count("title", a.Title, s.Title, &found.titles, &of.titles)
		count("author", a.Author, s.Author, &found.authors, &of.authors)
		date := ""
		if !a.Date.IsZero() {
			date = a.Date.Wall().Format("2006-01-02")
		}
		count("date", date, s.Date, &found.dates, &of.dates)
	}
	t.Logf("judge: NewspaperExtractor titles %d of %d, authors %d of %d, dates %d of %d", found.titles, of.titles, found.authors, of.authors, found.dates, of.dates)
	if found.titles < of.titles-1 || found.authors < of.authors-8 || found.dates < of.dates {
		t.Error("fewer than before")
	}
}

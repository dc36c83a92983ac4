package template

import (
	"strings"
	"unicode/utf8"

	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/result"
)

// Values of select. All others choose the longest content.
const (
	firstNonEmpty = "first_nonempty"
	mostFilled    = "most_filled"
)

// service are tags that the program adds whatever the page has.
var service = setOf("source_url pubdate_tz feed_url redirect_url summary_lang order_number html_lang parent_rss_feed parent_rss_feed_urlMd5")

// Choose returns the index of the result to keep, -1 for no results. results are those of the
// templates of list, in their order (docs/spec/processing.md 3.6). Service tags, tags that the
// template does not name and defaults do not count.
//
// first_nonempty takes the first result with a tag; most_filled the one with the most tags; any
// other select the one with the longest values. Of equals the earlier wins. A mandatory
// template without a tag ends the choice with bit 39.
func (s *Set) Choose(list []*Template, results []result.Result) (chosen int, problems []Problem) {
	chosen = -1
	best := size{}
	for i := range results {
		n := sizeOf(list[i], &results[i])
		if n.tags == 0 && list[i].Mandatory {
			return i, []Problem{{errormask.MandatoryTemplate, list[i].label, "", 0, "it is mandatory, and found nothing"}}
		}
		if chosen < 0 || s.isBetter(n, best) {
			chosen, best = i, n
		}
		if s.Select == firstNonEmpty && n.tags > 0 {
			return i, nil
		}
	}
	return chosen, nil
}

// Score returns how much the template found in a page: filled tags, and characters in their values.
// Service tags, tags that it does not name and defaults do not count.
func (t *Template) Score(r *result.Result) (tags, characters int) {
	n := sizeOf(t, r)
	return n.tags, n.characters
}

// size is how much a result has.
type size struct{ tags, characters int }

func (s *Set) isBetter(a, b size) bool {
	switch s.Select {
	case firstNonEmpty:
		return a.tags > 0 && b.tags == 0
	case mostFilled:
		return a.tags > b.tags
	}
	return a.characters > b.characters
}

func sizeOf(t *Template, r *result.Result) (n size) {
	own := map[string]bool{}
	for i := range t.tags {
		own[t.tags[i].name] = true
	}
	for _, tag := range r.Tags {
		counts := own[tag.Name] || len(own) == 0 && !service[tag.Name]
		if !counts || tag.Default || strings.TrimSpace(tag.First()) == "" {
			continue
		}
		n.tags++
		for _, v := range tag.Data {
			n.characters += utf8.RuneCountInString(v)
		}
	}
	return n
}

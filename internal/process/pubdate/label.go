package pubdate

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// label is what the words before a date say about it.
type label uint8

const (
	unlabelled label = iota
	published
	changed
	foreign // a deadline, an event, a member, a comment
)

// Words of labels in lower case. A final * means: and all words that begin so.
const (
	publishedWords = `published publish publish* pubdate posted issued dateline created datepublished publication veröffentlicht erstellt erschienen publié* publicado
		publicada publicerad pubblicat* gepubliceerd geplaatst opublikowan* publikováno yayınlan* опубликован* опубліковано 公開* 投稿* 発表* 掲載* 发布* 發布* 发表* 작성* 등록* 입력* 게시*`
	changedWords = `updated update updates updating modified modify lastmod lastupdated revised revision changed datemodified modification edited refreshed reviewed aktualisiert aktualisierung
		geändert stand actualis* actualiz* aggiorn* atualiz* bijgewerkt gewijzigd zaktualizowan* aktualizováno uppdaterad opdateret oppdatert päivitetty güncell* modifié*
		обновлен* обновлён* изменен* изменён* оновлено 更新* 最終更新* 最后更新* 수정*`
	otherPages = `comment comments reply replies respond related teaser teasers promo recommended event events footer copyright expires expiry upcoming`
	otherDates = `comment comments expire expires deadline deadlines until ends ending begins starts starting valid joined registered registration founded established born
		released due effective member since schedule accessed retrieved visited archived copyright`
)

// vocabulary finds the label of a word.
type vocabulary struct {
	words map[string]label
	stems []stem
}

func newVocabulary(foreignWords string) (v vocabulary) {
	v.words = map[string]label{}
	for l, list := range map[label]string{published: publishedWords, changed: changedWords, foreign: foreignWords} {
		for word := range strings.FieldsSeq(list) {
			if s, is := strings.CutSuffix(word, "*"); is {
				v.stems = append(v.stems, stem{s, l})
			} else {
				v.words[word] = l
			}
		}
	}
	return v
}

var (
	inNames = newVocabulary(otherPages) // class and id
	inTexts = newVocabulary(otherDates)
)

type stem struct {
	text  string
	label label
}

// labelOf returns what a word in lower case says.
func (v *vocabulary) labelOf(word string) label {
	if l, ok := v.words[word]; ok {
		return l
	}
	for _, s := range v.stems {
		if strings.HasPrefix(word, s.text) {
			return s.label
		}
	}
	return unlabelled
}

// eachWord calls do with the words of a text in lower case, and where they begin. Words of class
// names are apart: entry-date, entryDate and entry_date have two.
func eachWord(text string, do func(word string, at int)) {
	start, lower := -1, false
	flush := func(end int) {
		if start >= 0 {
			do(strings.ToLower(text[start:end]), start)
			start = -1
		}
	}
	for i, r := range text {
		letter := unicode.IsLetter(r) || r == '\u00ad' || unicode.IsMark(r)
		if !letter || lower && unicode.IsUpper(r) {
			flush(i)
		}
		if letter && start < 0 {
			start = i
		}
		lower = unicode.IsLower(r)
	}
	flush(len(text))
}

// labelOfNames returns what the words of class names say. An element of both, such as "published
// updated", has the date of publication.
func labelOfNames(names string) (l label) {
	eachWord(names, func(word string, _ int) {
		switch found := inNames.labelOf(word); {
		case found == foreign:
			l = foreign
		case l == foreign || found == unlabelled:
		case l == unlabelled || found == published:
			l = found
		}
	})
	return l
}

// labelBefore returns the last label of the text before a date.
func labelBefore(text string) (l label) {
	const most = 40
	if len(text) > most {
		text = text[len(text)-most:]
		for len(text) > 0 && !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
	}
	eachWord(text, func(word string, _ int) {
		if found := inTexts.labelOf(word); found != unlabelled {
			l = found
		}
	})
	return l
}

// segment is a part of a text that begins with a label.
type segment struct {
	label label
	text  string
}

// forEachSegment splits a text before its labels: "March 5, Updated: April 7" has two. The first may have no
// label.
func forEachSegment(text string, do func(segment)) {
	s := segment{}
	start := 0
	before := ""
	eachWord(text, func(word string, at int) {
		l := inTexts.labelOf(word)
		if word == "date" && before == "release" {
			l = foreign
		}
		before = word
		if l == unlabelled || l == s.label {
			return
		}
		if part := text[start:at]; strings.IndexFunc(part, unicode.IsDigit) >= 0 {
			do(segment{s.label, part})
		}
		s.label, start = l, at
	})
	do(segment{s.label, text[start:]})
}

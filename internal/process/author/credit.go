package author

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words before the name of an author, in lower case.
const (
	// creditVerbs stand before one of creditLinks: "Posted by", "Geschrieben von".
	creditVerbs = `posted written published reported submitted edited reviewed compiled contributed created story text words article photos
		geschrieben veröffentlicht verfasst publié rédigé écrit proposé escrito publicado redactado scritto pubblicato postado geschreven geplaatst
		skrivet publicerad skrevet skrivet napisane opublikowane`
	creditLinks = `by von par por da di door av af przez on`

	// creditWords stand alone: "By Ann Bell".
	creditWords = `by von par por di door av af`

	// creditNouns stand before a colon or a name that begins with a capital.
	creditNouns = `author authors autor autoren autorin auteur autrice autore autori autora autores writer reporter byline
		auteurs schrijver författare forfatter tekst autorka autorzy szerző yazar yazan kirjoittaja penulis oleh συντάκτης
		автор автора авторы авторка текст автори 著者 作者 記者 筆者 執筆者 執筆 文 ライター 记者 作家 撰文 责任编辑 글 글쓴이 기자 작성자 بقلم كتب الكاتب מאת लेखक`
)

var creditKinds = func() map[string]uint8 {
	kinds := map[string]uint8{}
	for kind, words := range map[uint8]string{creditVerb: creditVerbs, creditLink: creditLinks, creditWord: creditWords, creditNoun: creditNouns} {
		for w := range strings.FieldsSeq(words) {
			kinds[w] |= kind
		}
	}
	return kinds
}()

// Kinds of words, as bits.
const (
	creditVerb = 1 << iota
	creditLink
	creditWord
	creditNoun
)

// withoutCredit cuts the words that announce an author off a text with single spaces. It reports whether there are
// any. "文" and "von" are also parts of names: a name must follow.
func withoutCredit(text string) (rest string, credited bool) {
	word, rest := firstWord(text)
	kind := creditKinds[word]
	if kind&creditVerb != 0 {
		if link, behind := firstWord(strings.TrimLeft(rest, " ")); creditKinds[link]&creditLink != 0 && behind != strings.TrimLeft(rest, " ") {
			return leadingName(behind, true)
		}
	}
	switch {
	case kind&creditWord != 0:
		return leadingName(rest, false)
	case kind&creditNoun != 0:
		return leadingName(rest, false)
	}
	return text, false
}

// IsCredit reports whether a text is only words that announce an author, such as "Written by:".
func IsCredit(text string) bool { return isCredit(oneLine(text)) }

func isCredit(text string) bool {
	word, rest := firstWord(strings.TrimRight(text, " :：/|") + " ")
	if link, behind := firstWord(strings.TrimLeft(rest, " ")); creditKinds[word]&creditVerb != 0 && creditKinds[link]&creditLink != 0 {
		return behind == " "
	}
	return rest == " " && creditKinds[word]&(creditWord|creditNoun) != 0
}

// firstWord returns the letters at the start of a text in lower case, and what is behind them.
func firstWord(text string) (word, rest string) {
	const most = 40 // bytes of the longest word
	for i, c := range text {
		if i > most {
			return "", text
		}
		if !unicode.IsLetter(c) && !unicode.IsMark(c) {
			return strings.ToLower(text[:i]), text[i:]
		}
	}
	return "", text
}

// leadingName returns the name at the start of a text. Without a mark before it it must not begin with a small letter.
func leadingName(text string, certain bool) (name string, ok bool) {
	name = strings.TrimLeft(text, " ")
	for _, mark := range []string{":", "：", "/", "／", "|"} {
		if behind, found := strings.CutPrefix(name, mark); found {
			name, certain = strings.TrimLeft(behind, " "), true
			break
		}
	}
	c, _ := utf8.DecodeRuneInString(name)
	if name == "" || !certain && (name == text || unicode.IsLower(c)) {
		return "", false
	}
	return name, true
}

package author

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// findName returns the name of a person or an account in a text, or "": two words with a
// capital, one word with a capital, the account of a mail address, a glued name, the parts
// of an account (docs/spec/processing.md 2.5).
func (r Rules) findName(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		words[i] = strings.Trim(w, `,;:"()|`)
	}
	if name := firstCapitalPair(words); name != "" {
		return name
	}
	if r.cleanNonAlpha {
		if name := firstCapitalPair(lettersOnly(words)); name != "" {
			return name
		}
	}
	for i, w := range words {
		if i > 0 && isTitle(w) && Plausible(w) {
			return w
		}
	}
	for _, w := range words {
		if account, _, ok := strings.Cut(w, "@"); ok && mailAddress.MatchString(w) {
			return account
		}
	}
	for _, w := range words {
		if name := splitGlued(w); name != "" {
			return name
		}
	}
	for _, w := range words {
		if parts := strings.Split(w, "_"); len(parts) > 1 && isLetters(parts[0]) {
			return strings.Join(parts[:countLeadingLetters(parts)], " ")
		}
	}
	if Plausible(text) && isUncased(text) {
		return strings.TrimSpace(text)
	}
	return ""
}

var mailAddress = regexp.MustCompile(`^[\w.+-]+@[\w-]+(\.[\w-]+)+$`)

// firstCapitalPair returns the first two words with a capital that follow each other, with initials
// and particles between them: "Ludwig van Beethoven".
func firstCapitalPair(words []string) string {
	for i, w := range words {
		if !isCapital(w) {
			continue
		}
		next := i + 1
		for next < len(words) && next <= i+3 && (isInitial(words[next]) || particles[words[next]]) {
			next++
		}
		if next == len(words) || !isCapital(words[next]) || !isTitle(w) && !isTitle(words[next]) {
			continue
		}
		if name := strings.Join(words[i:next+1], " "); Plausible(name) && Name(name) == name {
			return name
		}
	}
	return ""
}

// FullName returns a text that is the name of a person and nothing else, such as "Ann Bell" and "by Ann Bell", or "".
func FullName(text string) string {
	name := Name(text)
	words := strings.Fields(name)
	if len(words) < 2 || len(words) > 4 || firstCapitalPair(words) != name {
		return ""
	}
	return name
}

// particles are the words in small letters inside of names.
var particles = wordSet("von van der den de la le di da dos do du del zu ter ten bin ibn al el af av y e")

func isInitial(w string) bool {
	c, size := utf8.DecodeRuneInString(w)
	return unicode.IsUpper(c) && (w[size:] == "." || w[size:] == "")
}

func isCapital(w string) bool { return isTitle(w) || isUpper(w) }

func isUpper(w string) bool {
	return utf8.RuneCountInString(w) > 1 && !strings.ContainsFunc(w, func(c rune) bool { return !unicode.IsUpper(c) })
}

// isTitle reports whether a word, or each part of O'Neil and Jean-Luc, is a capital with small
// letters behind it. The second capital of McDonald may be there.
func isTitle(w string) bool {
	small := false
	for part := range strings.FieldsFuncSeq(w, func(c rune) bool { return c == '-' || c == '\'' || c == '’' }) {
		for _, prefix := range []string{"Mc", "Mac"} {
			if rest, ok := strings.CutPrefix(part, prefix); ok && rest != "" && unicode.IsUpper([]rune(rest)[0]) {
				part = rest
			}
		}
		c, size := utf8.DecodeRuneInString(part)
		if !unicode.IsUpper(c) || strings.ContainsFunc(part[size:], func(c rune) bool { return !unicode.IsLower(c) }) {
			return false
		}
		small = small || len(part) > size
	}
	return small
}

func isLetters(w string) bool {
	return w != "" && !strings.ContainsFunc(w, func(c rune) bool { return !unicode.IsLetter(c) })
}

// lettersOnly returns the words without other characters, and without empty words.
func lettersOnly(words []string) []string {
	var out []string
	for _, w := range words {
		w = strings.Map(func(c rune) rune {
			if unicode.IsLetter(c) {
				return c
			}
			return -1
		}, w)
		if w != "" {
			out = append(out, w)
		}
	}
	return out
}

// splitGlued separates AnnBell into two words.
func splitGlued(w string) string {
	at := strings.LastIndexFunc(w, unicode.IsUpper)
	if at <= 0 || !isTitle(w[:at]) || !isTitle(w[at:]) || strings.HasPrefix(w, "Mc") {
		return ""
	}
	return w[:at] + " " + w[at:]
}

// countLeadingLetters returns how many of the first two parts are letters.
func countLeadingLetters(parts []string) int {
	n := slices.IndexFunc(parts, func(p string) bool { return !isLetters(p) })
	if n < 0 || n > 2 {
		return min(len(parts), 2)
	}
	return n
}

// isUncased reports whether a text has letters, all of a script without capitals.
func isUncased(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return unicode.IsUpper(c) || unicode.IsLower(c) || unicode.IsDigit(c) })
}

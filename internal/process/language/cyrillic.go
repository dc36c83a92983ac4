package language

import "strings"

// Letters that tell East Slavic languages apart. Their trigrams are too similar for the
// library, which takes short Ukrainian texts for Russian ones.
const (
	ukrainianLetters = "їєґі"
	russianLetters   = "ыэё"
	otherLetters     = "ўјљњћђџѓќѕәғқңөұүһѣћ" // of other languages in Cyrillic script
)

// eastSlavic returns "uk" or "ru" if the letters of a text say so, else "".
func eastSlavic(text string) string {
	uk, ru := 0, 0
	for _, c := range strings.ToLower(text) {
		switch {
		case c < 'а' || c > 'ӿ':
		case strings.ContainsRune(ukrainianLetters, c):
			uk++
		case strings.ContainsRune(russianLetters, c):
			ru++
		case strings.ContainsRune(otherLetters, c):
			return ""
		}
	}
	switch {
	case uk >= 3 && uk > 4*ru:
		return "uk"
	case ru >= 2 && ru > 4*uk:
		return "ru"
	}
	return ""
}

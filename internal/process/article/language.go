package article

import (
	"strings"

	"github.com/RadhiFadlillah/whatlanggo"
)

const (
	// letters of a text that are enough to tell its language, and the least
	// that make a guess worth more than nothing.
	enoughText = 1 << 10
	leastText  = 40
)

// guessLanguage returns the ISO 639-1 code of the language of text, "" when it
// is too short or looks like none.
func guessLanguage(text string) string {
	if len(text) < leastText {
		return ""
	}
	if len(text) > enoughText {
		text = text[:enoughText]
	}
	info := whatlanggo.Detect(strings.ToValidUTF8(text, ""))
	if !info.IsReliable() {
		return ""
	}
	return info.Lang.Iso6391()
}

// languageTag returns tag in the usual form, "" when it is no language tag:
// "EN_us" is "en-US", "de;q=1" and "none of your business" are nothing.
func languageTag(tag string) string {
	tag, _, _ = strings.Cut(strings.TrimSpace(tag), ",")
	parts := strings.Split(strings.ReplaceAll(tag, "_", "-"), "-")
	for i, part := range parts {
		if len(part) == 0 || len(part) > 8 || !alphanumeric(part) {
			return ""
		}
		switch {
		case i > 0 && len(part) == 2:
			parts[i] = strings.ToUpper(part)
		case i > 0 && len(part) == 4:
			parts[i] = strings.ToUpper(part[:1]) + strings.ToLower(part[1:])
		default:
			parts[i] = strings.ToLower(part)
		}
	}
	if n := len(parts[0]); n < 2 || n > 3 {
		return ""
	}
	return strings.Join(parts, "-")
}

func alphanumeric(text string) bool {
	for _, c := range []byte(text) {
		if c |= 0x20; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

package article

import (
	"strings"

	"github.com/RadhiFadlillah/whatlanggo"
)

const (
	enoughText = 1 << 10 // bytes that are enough to detect a language
	leastText  = 40      // bytes; the language of a shorter text is not detected
)

// guessLanguage returns the ISO 639-1 code of the language of text. It returns "" for a
// short text and for an unreliable result.
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

// languageTag normalizes the first language tag of a list: "EN_us, de" gives "en-US". It
// returns "" for an invalid tag, such as "de;q=1".
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

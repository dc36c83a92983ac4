package language

import "strings"

// Tag normalizes the first language tag of a list: "EN_us, de" gives "en-US". It returns ""
// for an invalid tag, such as "de;q=1". Old codes and those of three letters are replaced by
// those of ISO 639-1: "iw" and "heb" give "he".
func Tag(tag string) string {
	tag, _, _ = strings.Cut(strings.TrimSpace(tag), ",")
	parts := strings.Split(strings.ReplaceAll(tag, "_", "-"), "-")
	for i, part := range parts {
		if len(part) == 0 || len(part) > 8 || !isAlphanumeric(part) {
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
	if code, ok := replaced[parts[0]]; ok {
		parts[0] = code
	}
	if n := len(parts[0]); n < 2 || n > 3 {
		return ""
	}
	return strings.Join(parts, "-")
}

func isAlphanumeric(text string) bool {
	for _, c := range []byte(text) {
		if c |= 0x20; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// replaced are codes that pages declare in place of those of ISO 639-1.
var replaced = map[string]string{
	"iw": "he", "in": "id", "ji": "yi", "jw": "jv", "mo": "ro",
	"eng": "en", "deu": "de", "ger": "de", "fra": "fr", "fre": "fr", "spa": "es", "ita": "it", "por": "pt", "nld": "nl", "dut": "nl", "swe": "sv", "dan": "da",
	"nor": "no", "nob": "nb", "nno": "nn", "fin": "fi", "pol": "pl", "ces": "cs", "cze": "cs", "slk": "sk", "slo": "sk", "slv": "sl", "hrv": "hr", "srp": "sr",
	"hun": "hu", "ron": "ro", "rum": "ro", "bul": "bg", "ell": "el", "gre": "el", "tur": "tr", "rus": "ru", "ukr": "uk", "ara": "ar", "heb": "he", "fas": "fa",
	"per": "fa", "hin": "hi", "tha": "th", "vie": "vi", "ind": "id", "jpn": "ja", "kor": "ko", "zho": "zh", "chi": "zh", "cat": "ca", "lit": "lt", "lav": "lv", "est": "et",
}

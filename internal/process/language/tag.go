package language

import "strings"

// Tag normalizes the first language tag of a list: "EN_us, de" gives "en-US". It returns ""
// for an invalid tag, such as "de;q=1".
func Tag(tag string) string {
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

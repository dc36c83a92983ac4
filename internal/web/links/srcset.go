package links

import (
	"iter"
	"strings"
)

const space = " \t\r\n\f"

// candidates yields the URLs of a srcset value as the HTML standard parses it (4.8.4.2.2):
// a URL ends at white space or at a trailing comma, and its descriptors may have commas in
// parentheses.
func candidates(value string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for rest := value; ; {
			rest = strings.TrimLeft(rest, space+",")
			if rest == "" {
				return
			}
			end := strings.IndexAny(rest, space)
			if end < 0 {
				end = len(rest)
			}
			url := rest[:end]
			rest = rest[end:]
			if bare := strings.TrimRight(url, ","); len(bare) < len(url) {
				url = bare
			} else {
				rest = rest[descriptors(rest):]
			}
			if !yield(url) {
				return
			}
		}
	}
}

// descriptors returns the length of the descriptors at the start of text, up to the comma
// that ends them.
func descriptors(text string) int {
	inside := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '(':
			inside = true
		case c == ')':
			inside = false
		case c == ',' && !inside:
			return i
		}
	}
	return len(text)
}

package contenthash

import "strings"

// codes are the digits of the letters a to z; 0 is a vowel or another letter without digit.
const codes = "01230120022455012623010202"

// soundexCode returns the American Soundex code of a word in lower case: its first letter and three
// digits. Other characters are skipped. A word without letters a to z, such as one in another
// script, is its own code.
func soundexCode(word string) string {
	code := make([]byte, 0, 4)
	var last byte
	for i := range len(word) {
		c := word[i]
		if c < 'a' || c > 'z' {
			continue
		}
		digit := codes[c-'a']
		switch {
		case len(code) == 0:
			code = append(code, c-'a'+'A')
		case c == 'h' || c == 'w':
			continue // they do not separate equal digits
		case digit != '0' && digit != last:
			code = append(code, digit)
		}
		if last = digit; len(code) == 4 {
			return string(code)
		}
	}
	if len(code) == 0 {
		return word
	}
	return string(code) + strings.Repeat("0", 4-len(code))
}

package langmodel

const (
	longestGram = 4
	prime       = 0x9E3779B1
	wordSeed    = 0x51ED270B
)

// MostFeatures is the most features of a word.
const MostFeatures = (longestWord+2)*longestGram + 1

// AppendFeatures appends the hashes of the parts of a word that tell its language: runs of
// up to four letters, the limits of the word among them, and the whole word. Of a word in
// Han script these are the letters and pairs of letters. It appends at most MostFeatures.
func AppendFeatures(dst []uint32, word []rune, script Script) []uint32 {
	if script == Han {
		for i, c := range word {
			dst = append(dst, finish(step(0, c)))
			if i > 0 {
				dst = append(dst, finish(step(step(0, word[i-1]), c)))
			}
		}
		return dst
	}
	h := step(0, ' ')
	for j := 0; j < longestGram-1 && j < len(word); j++ {
		h = step(h, word[j])
		dst = append(dst, finish(h))
	}
	whole := uint32(wordSeed)
	for i, c := range word {
		whole = step(whole, c)
		h := step(0, c)
		if c >= 0x80 {
			dst = append(dst, finish(h))
		}
		n := min(longestGram, len(word)-i)
		for j := 1; j < n; j++ {
			h = step(h, word[i+j])
			dst = append(dst, finish(h))
		}
		if n < longestGram {
			dst = append(dst, finish(step(h, ' ')))
		}
	}
	if len(word) > 2 {
		dst = append(dst, finish(whole))
	}
	return dst
}

func step(h uint32, c rune) uint32 { return (h ^ uint32(c)) * prime }

// finish mixes a hash; 0 is no hash of a feature.
func finish(h uint32) uint32 {
	h ^= h >> 15
	h *= 0x85EBCA6B
	h ^= h >> 13
	return h | 1
}

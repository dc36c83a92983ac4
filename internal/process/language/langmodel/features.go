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
			dst = append(dst, finishHash(hashStep(0, c)))
			if i > 0 {
				dst = append(dst, finishHash(hashStep(hashStep(0, word[i-1]), c)))
			}
		}
		return dst
	}
	h := hashStep(0, ' ')
	for j := 0; j < longestGram-1 && j < len(word); j++ {
		h = hashStep(h, word[j])
		dst = append(dst, finishHash(h))
	}
	whole := uint32(wordSeed)
	for i, c := range word {
		whole = hashStep(whole, c)
		h := hashStep(0, c)
		if c >= 0x80 {
			dst = append(dst, finishHash(h))
		}
		n := min(longestGram, len(word)-i)
		for j := 1; j < n; j++ {
			h = hashStep(h, word[i+j])
			dst = append(dst, finishHash(h))
		}
		if n < longestGram {
			dst = append(dst, finishHash(hashStep(h, ' ')))
		}
	}
	if len(word) > 2 {
		dst = append(dst, finishHash(whole))
	}
	return dst
}

func hashStep(h uint32, c rune) uint32 { return (h ^ uint32(c)) * prime }

// finishHash mixes a hash; 0 is no hash of a feature.
func finishHash(h uint32) uint32 {
	h ^= h >> 15
	h *= 0x85EBCA6B
	h ^= h >> 13
	return h | 1
}

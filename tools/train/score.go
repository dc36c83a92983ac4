package main

// countCommonWords returns how many words of a are in b, each as often as it is there.
func countCommonWords(a, b []string) (n int) {
	left := map[string]int{}
	for _, w := range b {
		left[w]++
	}
	for _, w := range a {
		if left[w] > 0 {
			left[w]--
			n++
		}
	}
	return n
}

// wordF1 compares two texts as bags of words, 0 to 1.
func wordF1(found, gold string) float64 {
	a, b := wordsOf(found), wordsOf(gold)
	return f1Score(countCommonWords(a, b), len(a), len(b))
}

func f1Score(same, found, gold int) float64 {
	if found+gold == 0 {
		return 1
	}
	return 2 * float64(same) / float64(found+gold)
}

// compareShingles returns precision and recall of groups of four words, the measure of common sets of articles.
func compareShingles(found, gold string) (precision, recall float64) {
	a, b := groupsOfFour(wordsOf(found)), groupsOfFour(wordsOf(gold))
	same := float64(countCommonWords(a, b))
	if len(a) > 0 {
		precision = same / float64(len(a))
	}
	if len(b) > 0 {
		recall = same / float64(len(b))
	}
	return precision, recall
}

func groupsOfFour(w []string) (groups []string) {
	for i := range max(0, len(w)-3) {
		groups = append(groups, w[i]+" "+w[i+1]+" "+w[i+2]+" "+w[i+3])
	}
	return groups
}

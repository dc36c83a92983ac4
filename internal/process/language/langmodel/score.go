package langmodel

import "math"

// A Result says how well the languages of a script fit a text.
type Result struct {
	*Group
	Script  Script
	Letters int // of the script, in the sample
	All     int // letters of all scripts, weighted by what they say; Share is of it
	Known   int // features that the model knows
	Total   int // features of the text
	Scores  [MostLanguages]int32
}

// Score examines a sample of a text. It allocates nothing.
func (m *Model) Score(text string) Result {
	var r Result
	parts := Sample(text)
	var letters [scripts]int
	for _, part := range parts {
		countLetters(part, &letters)
	}
	for s := range scripts {
		letters[s] *= letterEvidence(s)
		r.All += letters[s]
		if s > None && letters[s] > letters[r.Script] {
			r.Script = s
		}
	}
	r.Letters, r.Group = letters[r.Script]/letterEvidence(r.Script), &m.groups[r.Script]
	if len(r.Group.slots) > 0 {
		for _, part := range parts {
			r.addText(part)
		}
		for i, bias := range r.bias {
			r.Add(i, bias)
		}
	}
	return r
}

func countLetters(text string, letters *[scripts]int) {
	w := Words{Text: text}
	for w.Next() {
		letters[w.Script] += w.n
	}
}

func (r *Result) addText(text string) {
	var buffer [MostFeatures]uint32
	w := Words{Text: text}
	for w.Next() {
		if w.Script != r.Script {
			continue
		}
		features := AppendFeatures(buffer[:0], w.Letters(), w.Script)
		r.Total += len(features)
		for _, hash := range features {
			weights := r.findWeights(hash)
			if len(weights) > 0 {
				r.Known++
			}
			for _, v := range weights {
				r.Scores[v.Language] += int32(v.Value)
			}
		}
	}
}

// Best returns the languages that fit best and second best. second is "" if there is one only.
func (r *Result) Best() (best, second int) {
	best, second = 0, -1
	for i := 1; i < len(r.Languages); i++ {
		switch {
		case r.Scores[i] > r.Scores[best]:
			best, second = i, best
		case second < 0 || r.Scores[i] > r.Scores[second]:
			second = i
		}
	}
	return best, second
}

// Margin returns how much better language i fits than language j, in nats.
func (r *Result) Margin(i, j int) float64 {
	return float64(r.Scores[i]-r.Scores[j]) * r.nats / math.Sqrt(float64(max(r.Known, 1)))
}

// Add makes language i fit better by a number of nats.
func (r *Result) Add(i int, nats float64) {
	if r.nats > 0 {
		r.Scores[i] += int32(nats / r.nats * math.Sqrt(float64(max(r.Known, 1))))
	}
}

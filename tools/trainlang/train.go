package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"

	"hce/dc/internal/process/language/langmodel"
)

// plan says how the languages of a script are trained.
type plan struct {
	script     langmodel.Script
	name       string
	perTag     int // samples of a language
	candidates int // features of a language to begin with
	weights    int // of all features in the model
}

var plans = []plan{
	{langmodel.Latin, "Latin", 1500, 1000, 72_000},
	{langmodel.Cyrillic, "Cyrillic", 1200, 900, 14_000},
	{langmodel.Arabic, "Arabic", 1200, 700, 6_000},
	{langmodel.Hebrew, "Hebrew", 1000, 500, 900},
	{langmodel.Devanagari, "Devanagari", 1200, 600, 4_500},
	{langmodel.Bengali, "Bengali", 1000, 500, 900},
	{langmodel.Ethiopic, "Ethiopic", 1000, 500, 900},
	{langmodel.Han, "Han", 2000, 1500, 4_500},
	{langmodel.Tibetan, "Tibetan", 1000, 500, 900},
}

var scriptNumbers = func() map[string]langmodel.Script {
	all := map[string]langmodel.Script{}
	for _, p := range plans {
		all[p.name] = p.script
	}
	return all
}()

// single are the scripts of one language.
var single = []struct {
	script langmodel.Script
	tag    string
}{
	{langmodel.Greek, "el"}, {langmodel.Hangul, "ko"}, {langmodel.Thai, "th"}, {langmodel.Lao, "lo"}, {langmodel.Khmer, "km"}, {langmodel.Myanmar, "my"},
	{langmodel.Georgian, "ka"}, {langmodel.Armenian, "hy"}, {langmodel.Gurmukhi, "pa"}, {langmodel.Gujarati, "gu"}, {langmodel.Oriya, "or"}, {langmodel.Tamil, "ta"},
	{langmodel.Telugu, "te"}, {langmodel.Kannada, "kn"}, {langmodel.Malayalam, "ml"}, {langmodel.Sinhala, "si"}, {langmodel.Thaana, "dv"},
}

// common are languages with many pages; they get more samples than the others.
const common = " de fr es it pt nl pl ru sv da nb fi cs hu ro tr uk id ms hr zh ja zh-Hant fa ar "

// trainModel writes a model of the texts of a folder. The same texts give the same bytes.
func trainModel(dir, out string) error {
	texts, err := readTexts(dir)
	if err != nil {
		return err
	}
	dropShared(texts)
	data := []byte{byte(len(plans) + len(single))}
	groups := make([][]byte, len(plans))
	var wg sync.WaitGroup
	for i, p := range plans {
		wg.Go(func() {
			t := newTrainer(p, texts)
			features := t.trainFeatures()
			groups[i] = langmodel.AppendGroup(nil, p.script, t.modelLanguages(), t.nats, features)
			fmt.Fprintf(os.Stderr, "%s: %d bytes, %s\n", p.name, len(groups[i]), strings.Join(t.tags, " "))
		})
	}
	wg.Wait()
	data = slices.Concat(append([][]byte{data}, groups...)...)
	for _, s := range single {
		data = langmodel.AppendGroup(data, s.script, []langmodel.Language{{Tag: s.tag}}, 0, nil)
	}
	return os.WriteFile(out, data, 0o644)
}

// How many nats a text has to say against a common language. Malay has to win against
// Indonesian, which has more pages and the same words.
const (
	commonBias = 1.0
	malayBias  = 0.5
)

func (t *trainer) modelLanguages() []langmodel.Language {
	var all []langmodel.Language
	for _, tag := range t.tags {
		l := langmodel.Language{Tag: tag}
		if tag == "ms" {
			l.Bias = malayBias
		} else if tag == "en" || strings.Contains(common, " "+tag+" ") {
			l.Bias = commonBias
		}
		all = append(all, l)
	}
	return all
}

// trainer trains the languages of one script by logistic regression.
type trainer struct {
	plan
	random  *rand.Rand
	tags    []string
	samples []sample
	hashes  []uint32  // of the candidate features
	freq    []float64 // samples that have a feature
	weights []float32 // of feature f and language l: f*len(tags)+l
	squares []float32 // sums of squared gradients
	nats    float64   // that a weight of 1 of the model is worth
	trained bool      // once with all samples
	masked  []bool    // weights that stay 0; nil: none
}

type sample struct {
	tag      int
	features []uint32 // first hashes, then numbers of candidates, ascending
}

func newTrainer(p plan, texts map[string][][]document) *trainer {
	t := &trainer{plan: p, random: rand.New(rand.NewPCG(1, uint64(p.script)))}
	english := newMixer(texts["en"], t.random)
	var mixers []*mixer
	for _, tag := range strings.Fields(scripts[p.name]) {
		if m := newMixer(texts[tag], t.random); m != nil {
			if tag != "en" && p.script == langmodel.Latin {
				m.english = english
			}
			t.tags, mixers = append(t.tags, tag), append(mixers, m)
		}
	}
	for i, m := range mixers {
		n := p.perTag
		switch {
		case t.tags[i] == "en":
			n *= 4
		case strings.Contains(common, " "+t.tags[i]+" "):
			n *= 2
		}
		for range min(n, m.size/100) {
			if s := (sample{i, featuresOf(m.newSample(), p.script)}); len(s.features) > 10 {
				t.samples = append(t.samples, s)
			}
		}
	}
	return t
}

func featuresOf(text string, script langmodel.Script) []uint32 {
	var all []uint32
	w := langmodel.Words{Text: text}
	for w.Next() {
		if w.Script == script {
			all = langmodel.AppendFeatures(all, w.Letters(), script)
		}
	}
	return all
}

// trainFeatures returns the features of the model: it trains all candidates, keeps the weights that
// say most, and trains these.
func (t *trainer) trainFeatures() []langmodel.Feature {
	if len(t.tags) < 2 {
		return nil
	}
	t.selectCandidates()
	t.weights = make([]float32, len(t.hashes)*len(t.tags))
	t.squares = make([]float32, len(t.weights))
	t.runEpochs(3)
	t.centerWeights()
	t.maskWeights()
	clear(t.squares)
	t.runEpochs(3)
	return t.roundedFeatures()
}

const enoughCounted = 1000 // samples of a language that say which features it has

// selectCandidates keeps for each language the features that tell it best from the others.
func (t *trainer) selectCandidates() {
	counts := make([]map[uint32]float64, len(t.tags))
	sums := map[uint32]float64{}
	for i := range counts {
		counts[i] = map[uint32]float64{}
	}
	totals := make([]float64, len(t.tags))
	counted := make([]int, len(t.tags))
	for _, s := range t.samples {
		if counted[s.tag]++; counted[s.tag] > enoughCounted {
			continue
		}
		for _, h := range s.features {
			counts[s.tag][h]++
		}
		totals[s.tag] += float64(len(s.features))
	}
	for i, c := range counts {
		for h, n := range c {
			if n < 4 {
				delete(c, h)
				continue
			}
			c[h] = n / totals[i]
			sums[h] += c[h]
		}
	}
	chosen := map[uint32]bool{}
	for _, c := range counts {
		for h, p := range c {
			c[h] = p * math.Log(1.02+p/(sums[h]/float64(len(t.tags))+1e-7))
		}
		for _, h := range byCount(c, t.candidates) {
			chosen[h] = true
		}
	}
	t.numberSamples(chosen)
}

// numberSamples replaces the hashes of the samples by the numbers of candidates.
func (t *trainer) numberSamples(chosen map[uint32]bool) {
	for h := range chosen {
		t.hashes = append(t.hashes, h)
	}
	slices.Sort(t.hashes)
	numbers := make(map[uint32]uint32, len(t.hashes))
	seen := make([]bool, 1<<20) // most hashes are not chosen, and this says so quickly
	for i, h := range t.hashes {
		numbers[h], seen[h>>12] = uint32(i), true
	}
	t.freq = make([]float64, len(t.hashes))
	for i := range t.samples {
		s := &t.samples[i]
		kept := s.features[:0]
		for _, h := range s.features {
			if !seen[h>>12] {
				continue
			}
			if n, ok := numbers[h]; ok {
				kept = append(kept, n)
			}
		}
		slices.Sort(kept)
		s.features = slices.Clone(kept)
		last := uint32(math.MaxUint32)
		for _, n := range kept {
			if n != last {
				t.freq[n]++
			}
			last = n
		}
	}
}

const (
	rate     = 0.35
	leastBit = 0.002 // of a gradient that is applied
	decay    = 2e-6

	untranslated = 4.0 // loss of a sample that the model takes for English, and that so is not learnt
)

func (t *trainer) runEpochs(n int) {
	logits := make([]float32, len(t.tags))
	for e := range n {
		loss, wrong := 0.0, 0
		for _, i := range t.random.Perm(len(t.samples)) {
			l, ok := t.learnSample(t.samples[i], logits, rate/float32(1+e))
			loss += l
			if !ok {
				wrong++
			}
		}
		t.trained = true
		fmt.Fprintf(os.Stderr, "  %s: %d samples, %d features, loss %.4f, wrong %.4f\n", t.name, len(t.samples), len(t.hashes), loss/float64(len(t.samples)), float64(wrong)/float64(len(t.samples)))
	}
}

// learnSample applies the gradient of one sample and returns its loss before, and whether the
// language was right.
func (t *trainer) learnSample(s sample, logits []float32, rate float32) (loss float64, ok bool) {
	if len(s.features) == 0 {
		return 0, true
	}
	scale := 1 / float32(math.Sqrt(float64(len(s.features))))
	clear(logits)
	n := len(t.tags)
	for _, f := range s.features {
		for l, w := range t.weights[int(f)*n : int(f)*n+n] {
			logits[l] += w
		}
	}
	most, sum := 0, 0.0
	for l := range logits {
		logits[l] *= scale
		if logits[l] > logits[most] {
			most = l
		}
	}
	top := logits[most]
	for l := range logits {
		logits[l] = float32(math.Exp(float64(logits[l] - top)))
		sum += float64(logits[l])
	}
	loss = -math.Log(max(float64(logits[s.tag])/sum, 1e-12))
	if t.trained && t.tags[most] == "en" && s.tag != most && loss > untranslated {
		return loss, false
	}
	for l := range logits {
		g := logits[l] / float32(sum)
		if l == s.tag {
			g--
		}
		if g > leastBit || g < -leastBit {
			t.moveWeights(s.features, l, g*scale, rate)
		}
	}
	return loss, most == s.tag
}

// moveWeights moves the weights of a language against a gradient.
func (t *trainer) moveWeights(features []uint32, l int, g, rate float32) {
	n := len(t.tags)
	for i := 0; i < len(features); {
		j := i + 1
		for j < len(features) && features[j] == features[i] {
			j++
		}
		at := int(features[i])*n + l
		if t.masked == nil || !t.masked[at] {
			d := g*float32(j-i) + decay*t.weights[at]
			t.squares[at] += d * d
			t.weights[at] -= rate * d / float32(math.Sqrt(float64(t.squares[at]))+1e-3)
		}
		i = j
	}
}

// centerWeights subtracts from the weights of each feature their median, which changes no
// result and makes most of them small.
func (t *trainer) centerWeights() {
	n := len(t.tags)
	sorted := make([]float32, n)
	for f := range t.hashes {
		weights := t.weights[f*n : f*n+n]
		copy(sorted, weights)
		slices.Sort(sorted)
		for l := range weights {
			weights[l] -= sorted[n/2]
		}
	}
}

// mostSaid are the languages that a feature says most of; it keeps weights for these.
const mostSaid = 16

// maskWeights keeps the weights that say most in all samples together, at most mostSaid of a feature.
func (t *trainer) maskWeights() {
	n := len(t.tags)
	says := make([]float64, len(t.weights))
	for i, w := range t.weights {
		says[i] = math.Abs(float64(w)) * math.Pow(t.freq[i/n], 0.5)
	}
	for f := range t.hashes {
		row := says[f*n : f*n+n]
		if n <= mostSaid {
			continue
		}
		sorted := slices.Clone(row)
		slices.Sort(sorted)
		for l := range row {
			if row[l] <= sorted[n-1-mostSaid] {
				row[l] = 0
			}
		}
	}
	sorted := slices.Clone(says)
	slices.Sort(sorted)
	least := sorted[max(0, len(sorted)-t.plan.weights)]
	t.masked = make([]bool, len(t.weights))
	for i := range t.weights {
		if says[i] < least || says[i] == 0 {
			t.masked[i], t.weights[i] = true, 0
		}
	}
}

// roundedFeatures returns the features with weights as whole numbers.
func (t *trainer) roundedFeatures() []langmodel.Feature {
	largest := 0.0
	all := make([]float64, 0, len(t.weights))
	for _, w := range t.weights {
		if w != 0 {
			all = append(all, math.Abs(float64(w)))
		}
	}
	slices.Sort(all)
	largest = all[len(all)*998/1000]
	t.nats = largest / 127
	n := len(t.tags)
	var features []langmodel.Feature
	for f, h := range t.hashes {
		var weights []langmodel.Weight
		for l, w := range t.weights[f*n : f*n+n] {
			if v := math.Round(float64(w) / largest * 127); v != 0 {
				weights = append(weights, langmodel.Weight{Language: uint8(l), Value: int8(max(-127, min(127, v)))})
			}
		}
		if len(weights) > 0 {
			features = append(features, langmodel.Feature{Hash: h, Weights: weights})
		}
	}
	slices.SortFunc(features, func(a, b langmodel.Feature) int { return cmp.Compare(a.Hash, b.Hash) })
	return features
}

package main

import (
	"cmp"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hce/dc/internal/process/language/langmodel"
)

// A document is the blocks of one file of a package.
type document []string

// readTexts reads the folders that collect wrote: for each language the documents of each package.
func readTexts(dir string) (map[string][][]document, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.txt"))
	if err != nil {
		return nil, err
	}
	all := map[string][][]document{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		lang := strings.TrimSuffix(filepath.Base(file), ".txt")
		if _, ok := groupOf[lang]; ok {
			all[lang] = append(all[lang], splitDocuments(string(data)))
		}
	}
	return all, nil
}

func splitDocuments(text string) []document {
	var all []document
	for part := range strings.SplitSeq(text, "\f\n") {
		if part != "" {
			all = append(all, strings.Split(strings.TrimSuffix(part, "\n"), "\n"))
		}
	}
	return all
}

// dropShared removes the blocks that several languages have, which are not translated, and
// those in another script.
func dropShared(all map[string][][]document) {
	owner := map[uint64]string{}
	for _, docs := range all["en"] { // originals
		for _, doc := range docs {
			for _, block := range doc {
				owner[hashText(block)] = "en"
			}
		}
	}
	for _, lang := range sortedKeys(all) {
		for _, docs := range all[lang] {
			for _, doc := range docs {
				for _, block := range doc {
					h := hashText(block)
					if first, ok := owner[h]; !ok {
						owner[h] = lang
					} else if first != lang && first != "en" {
						owner[h] = ""
					}
				}
			}
		}
	}
	for lang, packages := range all {
		for _, docs := range packages {
			for i := range docs {
				docs[i] = slices.DeleteFunc(docs[i], func(block string) bool {
					return owner[hashText(block)] != lang || !inScript(block, lang)
				})
			}
		}
	}
}

func hashText(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func inScript(block, lang string) bool {
	r := empty.Score(block)
	want, ok := scriptNumbers[groupOf[lang]]
	return r.Script == want || !ok && r.Script > langmodel.Tibetan
}

var empty langmodel.Model

// mixer makes samples of the texts of a language.
type mixer struct {
	random   *rand.Rand
	packages [][]string // the blocks of each package in order
	weights  []float64
	size     int    // bytes of all texts
	english  *mixer // nil: adds no foreign words
}

// newMixer returns nil for a language with little text.
func newMixer(packages [][]document, random *rand.Rand) *mixer {
	m := &mixer{random: random}
	for _, docs := range packages {
		var blocks []string
		size := 0
		for _, doc := range docs {
			for _, block := range doc {
				blocks, size = append(blocks, block), size+len(block)
			}
		}
		if size < 2000 {
			continue
		}
		m.packages = append(m.packages, blocks)
		m.weights = append(m.weights, float64(min(size, 400_000))+20_000)
		m.size += size
	}
	if m.size < 6000 {
		return nil
	}
	return m
}

// chooseBlocks returns the blocks of a package, chosen by weight.
func (m *mixer) chooseBlocks() []string {
	sum := 0.0
	for _, w := range m.weights {
		sum += w
	}
	x := m.random.Float64() * sum
	for i, w := range m.weights {
		if x -= w; x < 0 {
			return m.packages[i]
		}
	}
	return m.packages[len(m.packages)-1]
}

// newSample returns consecutive blocks, cut to a random length.
func (m *mixer) newSample() string {
	blocks := m.chooseBlocks()
	i := m.random.IntN(len(blocks))
	size := 30 + m.random.IntN(120)
	switch x := m.random.IntN(10); {
	case x < 3:
		size = 300 + m.random.IntN(500)
	case x < 7:
		size = 120 + m.random.IntN(180)
	}
	var b strings.Builder
	for n := 0; n < size && i < len(blocks); i++ {
		words := strings.Fields(blocks[i])
		from := 0
		if b.Len() == 0 && len(words) > 20 {
			from = m.random.IntN(len(words) - 15)
		}
		for _, word := range words[from:] {
			if n < size {
				b.WriteString(word + " ")
				n += len([]rune(word)) + 1
			}
		}
	}
	text := b.String()
	if m.english != nil && m.random.IntN(4) == 0 {
		text = m.withForeign(text)
	}
	return text
}

// withForeign adds a few English words, as technical texts have.
func (m *mixer) withForeign(text string) string {
	words := strings.Fields(text)
	foreign := strings.Fields(m.english.newSample())
	n := min(len(words)/6, len(foreign))
	for i := range n {
		words = slices.Insert(words, m.random.IntN(len(words)), foreign[i])
	}
	return strings.Join(words, " ")
}

func byCount[K cmp.Ordered](counts map[K]float64, most int) []K {
	keys := make([]K, 0, len(counts))
	for k := range counts {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b K) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	return keys[:min(most, len(keys))]
}

package langmodel

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
)

// MostLanguages is the most languages of a script.
const MostLanguages = 256

// Parts of a nat in the bytes of a model.
const (
	natScale  = 1e6
	biasScale = 10
)

// A Model tells the languages of texts. Goroutines may share it.
type Model struct {
	groups [scripts]Group
}

// A Group has the languages of a script and the weights of their features.
type Group struct {
	Languages []string // tags
	bias      []float64
	nats      float64 // the worth of a weight of 1
	slots     []slot  // a hash table with open addressing; empty for one language
	shift     uint
	weights   []Weight
}

type slot struct {
	hash uint32 // 0: empty
	from uint32 // of the first of its weights; the last byte is their number
}

// A Weight is what a feature says of a language.
type Weight struct {
	Language uint8
	Value    int8
}

var errFormat = errors.New("the language model is damaged")

// Read reads a model that Append wrote.
func Read(data []byte) (*Model, error) {
	m, r := &Model{}, cursor{data: data}
	for range r.readNumber() {
		s := r.readNumber()
		if s == 0 || s >= uint64(scripts) {
			return nil, errFormat
		}
		m.groups[s] = r.readGroup()
	}
	if r.failed || len(r.data) > 0 {
		return nil, errFormat
	}
	return m, nil
}

// cursor reads numbers and texts from the start of data.
type cursor struct {
	data   []byte
	failed bool
}

func (r *cursor) readNumber() uint64 {
	n, size := binary.Uvarint(r.data)
	if size <= 0 || n > 1<<32 {
		r.failed, r.data = true, nil
		return 0
	}
	r.data = r.data[size:]
	return n
}

func (r *cursor) readBytes(n uint64) []byte {
	if n > uint64(len(r.data)) {
		r.failed, r.data = true, nil
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *cursor) readGroup() Group {
	var g Group
	for range min(r.readNumber(), MostLanguages) {
		g.Languages = append(g.Languages, string(r.readBytes(r.readNumber())))
		g.bias = append(g.bias, float64(r.readNumber())/biasScale)
	}
	g.nats = float64(r.readNumber()) / natScale
	features := r.readNumber()
	if features == 0 || features > uint64(len(r.data)) {
		r.failed = r.failed || features > 0
		return g
	}
	size := uint(bits.Len64(features * 3 / 2))
	g.slots, g.shift = make([]slot, 1<<size), 32-size
	g.weights = make([]Weight, 0, len(r.data)/2)
	hash := uint32(0)
	for range features {
		hash += uint32(r.readNumber())
		pairs := r.readBytes(2 * (r.readNumber() & 0xFF))
		g.insertHash(hash, uint32(len(g.weights))<<8|uint32(len(pairs)/2))
		for i := 0; i < len(pairs); i += 2 {
			r.failed = r.failed || int(pairs[i]) >= len(g.Languages)
			g.weights = append(g.weights, Weight{pairs[i], int8(pairs[i+1])})
		}
	}
	return g
}

func (g *Group) insertHash(hash, from uint32) {
	for i := hash >> g.shift; ; i = (i + 1) & uint32(len(g.slots)-1) {
		if g.slots[i].hash == 0 {
			g.slots[i] = slot{hash, from}
			return
		}
	}
}

// findWeights returns the weights of a feature.
func (g *Group) findWeights(hash uint32) []Weight {
	for i := hash >> g.shift; ; i = (i + 1) & uint32(len(g.slots)-1) {
		s := g.slots[i]
		if s.hash == hash {
			return g.weights[s.from>>8:][:s.from&0xFF]
		}
		if s.hash == 0 {
			return nil
		}
	}
}

// Has reports whether a language of the model meets a condition.
func (m *Model) Has(condition func(tag string) bool) bool {
	for i := range m.groups {
		if slices.ContainsFunc(m.groups[i].Languages, condition) {
			return true
		}
	}
	return false
}

// A Language has a tag, and the nats by which it fits each text better.
type Language struct {
	Tag  string
	Bias float64
}

// A Feature has the weights of a hash.
type Feature struct {
	Hash    uint32
	Weights []Weight
}

// AppendGroup appends a group to the bytes of a model: the script, its
// languages, the nats that a weight of 1 is worth, and its features by ascending hash. The bytes of a model begin with the number of its groups.
func AppendGroup(data []byte, script Script, languages []Language, nats float64, features []Feature) []byte {
	data = binary.AppendUvarint(data, uint64(script))
	data = binary.AppendUvarint(data, uint64(len(languages)))
	for _, l := range languages {
		data = binary.AppendUvarint(data, uint64(len(l.Tag)))
		data = append(data, l.Tag...)
		data = binary.AppendUvarint(data, uint64(l.Bias*biasScale))
	}
	data = binary.AppendUvarint(data, uint64(nats*natScale))
	data = binary.AppendUvarint(data, uint64(len(features)))
	last := uint32(0)
	for _, f := range features {
		data = binary.AppendUvarint(data, uint64(f.Hash-last))
		data = binary.AppendUvarint(data, uint64(len(f.Weights)))
		for _, w := range f.Weights {
			data = append(data, w.Language, byte(w.Value))
		}
		last = f.Hash
	}
	return data
}

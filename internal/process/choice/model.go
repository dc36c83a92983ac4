package choice

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"io"
	"math"
)

// Forest is a list of trees that ask the same questions on each level: a few comparisons for each tree, without branches.
type Forest struct {
	Depth     int
	Bias      float32
	Feature   []uint8   // Depth for each tree
	Threshold []float32 // Depth for each tree
	Leaf      []float32 // 1<<Depth for each tree
}

// Sum returns the log odds.
func (m *Forest) Sum(x []float32) float32 {
	s := m.Bias
	d := m.Depth
	width := 1 << d
	for t, l := 0, 0; t < len(m.Feature); t, l = t+d, l+width {
		at := 0
		for k := 0; k < d; k++ {
			if x[m.Feature[t+k]] > m.Threshold[t+k] {
				at |= 1 << k
			}
		}
		s += m.Leaf[l+at]
	}
	return s
}

// Predict returns the probability.
func (m *Forest) Predict(x []float32) float32 { return float32(1 / (1 + math.Exp(-float64(m.Sum(x))))) }

// write writes a forest: depth and number of questions, bias, features, thresholds, leaves, little endian.
func (m *Forest) write(w io.Writer) error {
	for _, v := range []any{[]uint32{uint32(m.Depth), uint32(len(m.Feature))}, m.Bias, m.Feature, m.Threshold, m.Leaf} {
		if err := binary.Write(w, binary.LittleEndian, v); err != nil {
			return err
		}
	}
	return nil
}

func readForest(r io.Reader) *Forest {
	var head [2]uint32
	if binary.Read(r, binary.LittleEndian, &head) != nil {
		return nil
	}
	m := &Forest{Depth: int(head[0])}
	n := int(head[1])
	m.Feature, m.Threshold, m.Leaf = make([]uint8, n), make([]float32, n), make([]float32, n/m.Depth<<m.Depth)
	binary.Read(r, binary.LittleEndian, &m.Bias)
	binary.Read(r, binary.LittleEndian, m.Feature)
	binary.Read(r, binary.LittleEndian, m.Threshold)
	binary.Read(r, binary.LittleEndian, m.Leaf)
	return m
}

//go:embed model.bin
var modelBytes []byte

// Models are all that chooses the lines of a page.
type Models struct {
	Kinds [pageKinds]*Forest // how much a page is of each kind, by KindNames
	First *Forest            // a line by itself
	Last  [experts]*Forest   // a line by what First says of all lines: for articles, documentation, all other pages
}

// forests returns the places of the forests in the order of the file.
func (m *Models) forests() (list []**Forest) {
	for k := range m.Kinds {
		list = append(list, &m.Kinds[k])
	}
	list = append(list, &m.First)
	for k := range m.Last {
		list = append(list, &m.Last[k])
	}
	return list
}

// Write writes the models in the form of model.bin.
func (m *Models) Write(w io.Writer) error {
	for _, f := range m.forests() {
		if err := (*f).write(w); err != nil {
			return err
		}
	}
	return nil
}

// models are those in use.
var models = ReadModels(modelBytes)

// UseModels sets the models of all choosers. It is for the trainer; no page may be read meanwhile.
func UseModels(m *Models) { models = m }

// ReadModels reads what Write wrote.
func ReadModels(b []byte) *Models {
	m, r := &Models{}, bytes.NewReader(b)
	for _, f := range m.forests() {
		*f = readForest(r)
	}
	return m
}

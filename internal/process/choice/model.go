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

// Write writes a forest in a small form.
func (m *Forest) Write(w io.Writer) {
	binary.Write(w, binary.LittleEndian, []uint32{uint32(m.Depth), uint32(len(m.Feature))})
	binary.Write(w, binary.LittleEndian, m.Bias)
	binary.Write(w, binary.LittleEndian, m.Feature)
	binary.Write(w, binary.LittleEndian, m.Threshold)
	binary.Write(w, binary.LittleEndian, m.Leaf)
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

var (
	kindModels [pageKinds]*Forest
	firstModel *Forest
	lastModels [2]*Forest // for pages of one text, and for collections
)

func init() {
	r := bytes.NewReader(modelBytes)
	for k := range kindModels {
		kindModels[k] = readForest(r)
	}
	firstModel = readForest(r)
	for k := range lastModels {
		lastModels[k] = readForest(r)
	}
}

package choice

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"io"
	"math"
	"sync"
)

// Forest is a list of trees that ask the same questions on each level: a few comparisons for each tree, without branches.
type Forest struct {
	Depth     int
	Bias      float32
	Feature   []uint8   // Depth for each tree
	Threshold []float32 // Depth for each tree
	Leaf      []float32 // 1<<Depth for each tree
}

const (
	treeDepth = 5  // of the forests that SumRows reads in batches
	batch     = 64 // rows for which all trees are read, so that they stay in the cache
)

// Sum returns the log odds of a row.
func (m *Forest) Sum(x []float32) float32 {
	s := m.Bias
	d := m.Depth
	width := 1 << d
	for t, l := 0, 0; t < len(m.Feature); t, l = t+d, l+width {
		at := 0
		for k := range d {
			at |= oneIfAbove(x[m.Feature[t+k]], m.Threshold[t+k]) << k
		}
		s += m.Leaf[l+at]
	}
	return s
}

// oneIfAbove returns 1 if x > t, else 0, without a branch. Neither is NaN.
func oneIfAbove(x, t float32) int { return int(math.Float32bits(t-x) >> 31) }

// SumRows writes the log odds of rows to sums; row i begins at rows[i*stride], and rows has maxFeatures more behind the
// last one. It gives what Sum gives.
func (m *Forest) SumRows(sums, rows []float32, stride int) {
	for i := range sums {
		sums[i] = m.Bias
		if m.Depth != treeDepth {
			sums[i] = m.Sum(rows[i*stride:])
		}
	}
	for from := 0; from < len(sums) && m.Depth == treeDepth; from += batch {
		to := min(len(sums), from+batch)
		m.addTrees(sums[from:to], rows[from*stride:], stride)
	}
}

// addTrees adds the leaves of all trees to the sums of a batch of rows.
func (m *Forest) addTrees(sums, rows []float32, stride int) {
	for t, l := 0, 0; t+treeDepth <= len(m.Feature); t, l = t+treeDepth, l+1<<treeDepth {
		f := (*[treeDepth]uint8)(m.Feature[t:])
		h := (*[treeDepth]float32)(m.Threshold[t:])
		leaf := (*[1 << treeDepth]float32)(m.Leaf[l:])
		f0, f1, f2, f3, f4 := f[0], f[1], f[2], f[3], f[4]
		h0, h1, h2, h3, h4 := h[0], h[1], h[2], h[3], h[4]
		for i := range sums {
			x := (*[maxFeatures]float32)(rows[i*stride:])
			at := oneIfAbove(x[f0], h0) | oneIfAbove(x[f1], h1)<<1 | oneIfAbove(x[f2], h2)<<2 | oneIfAbove(x[f3], h3)<<3 | oneIfAbove(x[f4], h4)<<4
			sums[i] += leaf[at&(1<<treeDepth-1)]
		}
	}
}

// Predict returns the probability.
func (m *Forest) Predict(x []float32) float32 { return sigmoid(m.Sum(x)) }

// writeForest writes a forest: depth and number of questions, bias, features, thresholds, leaves, little endian.
func (m *Forest) writeForest(w io.Writer) error {
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

// forestPlaces returns the places of the forests in the order of the file.
func (m *Models) forestPlaces() (list []**Forest) {
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
	for _, f := range m.forestPlaces() {
		if err := (*f).writeForest(w); err != nil {
			return err
		}
	}
	return nil
}

// models returns those in use. They are read for the first page, not at the start of each program that links them.
var models = sync.OnceValue(func() *Models { return ReadModels(modelBytes) })

// UseModels sets the models of all choosers. It is for the trainer; no page may be read meanwhile.
func UseModels(m *Models) { models = func() *Models { return m } }

// ReadModels reads what Write wrote.
func ReadModels(b []byte) *Models {
	m, r := &Models{}, bytes.NewReader(b)
	for _, f := range m.forestPlaces() {
		*f = readForest(r)
	}
	return m
}

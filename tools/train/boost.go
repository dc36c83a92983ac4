package main

import (
	"math"
	"math/rand"
	"sort"
	"sync"

	"hce/dc/internal/process/choice"
)

// Gradient boosting of oblivious trees with the logistic loss. All random choices come from seeds and sums are made in
// a fixed order, so the same rows give the same bytes.

const (
	maxBins     = 48    // bins of a quantized feature
	edgeSamples = 20000 // rows that are looked at to find the bins
	featurePart = 0.4   // of the features are tried for each tree
	workers     = 2
)

// settings are the numbers of a forest.
type settings struct {
	trees, depth int
	rate         float64 // of learning
	sample       float64 // part of the rows for each tree
	seed         int64
}

// rows are training data: quantized features by column, labels and weights.
type rows struct {
	n     int
	bins  [][]uint8
	edges [][]float32
	y, w  []float32
}

// runParallel calls f for 0 to n-1 on few goroutines.
func runParallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	for k := range workers {
		wg.Go(func() {
			for i := k; i < n; i += workers {
				f(i)
			}
		})
	}
	wg.Wait()
}

// newRows quantizes the features xs of rows with labels y and weights w.
func newRows(xs [][]float32, y, w []float32) *rows {
	r := &rows{n: len(xs), y: y, w: w}
	width := len(xs[0])
	r.bins, r.edges = make([][]uint8, width), make([][]float32, width)
	runParallel(width, func(f int) {
		edges := edgesOf(xs, f)
		column := make([]uint8, r.n)
		for i := range xs {
			column[i] = binOf(edges, xs[i][f])
		}
		r.bins[f], r.edges[f] = column, edges
	})
	return r
}

// binOf returns the number of edges below x.
func binOf(edges []float32, x float32) uint8 {
	return uint8(sort.Search(len(edges), func(k int) bool { return x <= edges[k] }))
}

// edgesOf returns thresholds of feature f, in ascending order, so that about as many rows are between each two.
func edgesOf(xs [][]float32, f int) (edges []float32) {
	step := max(1, len(xs)/edgeSamples)
	var sample []float32
	for i := 0; i < len(xs); i += step {
		sample = append(sample, xs[i][f])
	}
	sort.Slice(sample, func(a, b int) bool { return sample[a] < sample[b] })
	for k := 1; k < maxBins; k++ {
		a := sample[k*len(sample)/maxBins]
		e := a
		if j := sort.Search(len(sample), func(i int) bool { return sample[i] > a }); j < len(sample) {
			e = (a + sample[j]) / 2
		}
		if len(edges) == 0 || e > edges[len(edges)-1] {
			edges = append(edges, e)
		}
	}
	return edges
}

// booster is the state of a training.
type booster struct {
	*rows
	settings
	rng    *rand.Rand
	score  []float32 // log odds of each row
	g, h   []float32 // derivatives of the loss
	leaf   []uint8   // of each row in the tree that grows
	order  []int32   // the rows of this tree
	lambda float64
}

// trainForest trains a forest.
func trainForest(r *rows, s settings) *choice.Forest {
	b := &booster{rows: r, settings: s, rng: rand.New(rand.NewSource(s.seed))}
	var sy, sw float64
	for i := range r.y {
		sy += float64(r.y[i] * r.w[i])
		sw += float64(r.w[i])
	}
	sy = min(max(sy, 1e-6*sw), (1-1e-6)*sw)
	m := &choice.Forest{Depth: s.depth, Bias: float32(math.Log(sy / (sw - sy)))}
	b.lambda = 40 * sw / float64(r.n)
	b.score = make([]float32, r.n)
	for i := range b.score {
		b.score[i] = m.Bias
	}
	b.g, b.h, b.leaf = make([]float32, r.n), make([]float32, r.n), make([]uint8, r.n)
	for range s.trees {
		b.growTree(m)
	}
	return m
}

// growTree adds a tree to m.
func (b *booster) growTree(m *choice.Forest) {
	b.prepareTree()
	width := len(b.bins)
	features := b.rng.Perm(width)[:max(1, int(featurePart*float64(width)))]
	for d := range b.depth {
		f, bin := b.bestSplit(features, d)
		threshold := float32(math.MaxFloat32)
		if len(b.edges[f]) > 0 {
			threshold = b.edges[f][bin]
		}
		m.Feature, m.Threshold = append(m.Feature, uint8(f)), append(m.Threshold, threshold)
		column := b.bins[f]
		for i := range b.leaf {
			if column[i] > uint8(bin) {
				b.leaf[i] |= 1 << d
			}
		}
	}
	m.Leaf = append(m.Leaf, b.leafValues()...)
}

// prepareTree computes the derivatives and draws the rows of a tree.
func (b *booster) prepareTree() {
	b.order = b.order[:0]
	for i := range b.score {
		p := 1 / (1 + float32(math.Exp(float64(-b.score[i]))))
		b.g[i] = (p - b.y[i]) * b.w[i]
		b.h[i] = max(p*(1-p), 1e-4) * b.w[i]
		b.leaf[i] = 0
		if b.rng.Float64() < b.sample {
			b.order = append(b.order, int32(i))
		}
	}
}

// bestSplit returns the feature and the bin that divide all leaves of level d best.
func (b *booster) bestSplit(features []int, d int) (feature, bin int) {
	type candidate struct {
		gain float64
		bin  int
	}
	best := make([]candidate, len(features))
	runParallel(len(features), func(k int) {
		best[k].gain = -1
		for bin, gain := range b.splitGains(features[k], 1<<d) {
			if gain > best[k].gain {
				best[k] = candidate{gain, bin}
			}
		}
	})
	top := 0
	for k := range best {
		if best[k].gain > best[top].gain {
			top = k
		}
	}
	return features[top], best[top].bin
}

// splitGains returns the gain of a split of all leaves at each edge of feature f.
func (b *booster) splitGains(f, leaves int) []float64 {
	hist := make([][2]float32, leaves*maxBins)
	column := b.bins[f]
	for _, i := range b.order {
		c := &hist[int(b.leaf[i])*maxBins+int(column[i])]
		c[0] += b.g[i]
		c[1] += b.h[i]
	}
	gains := make([]float64, len(b.edges[f]))
	for l := range leaves {
		var G, H float64
		part := hist[l*maxBins : (l+1)*maxBins]
		for _, c := range part {
			G, H = G+float64(c[0]), H+float64(c[1])
		}
		var gl, hl float64
		for k := range gains {
			gl, hl = gl+float64(part[k][0]), hl+float64(part[k][1])
			gr, hr := G-gl, H-hl
			gains[k] += gl*gl/(hl+b.lambda) + gr*gr/(hr+b.lambda) - G*G/(H+b.lambda)
		}
	}
	return gains
}

// leafValues returns the values of the leaves, and adds them to the scores.
func (b *booster) leafValues() []float32 {
	G, H := make([]float64, 1<<b.depth), make([]float64, 1<<b.depth)
	for _, i := range b.order {
		G[b.leaf[i]] += float64(b.g[i])
		H[b.leaf[i]] += float64(b.h[i])
	}
	values := make([]float32, len(G))
	for l := range values {
		values[l] = float32(-G[l] / (H[l] + b.lambda) * b.rate)
	}
	for i := range b.score {
		b.score[i] += values[b.leaf[i]]
	}
	return values
}

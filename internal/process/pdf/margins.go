package pdf

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	marginRows = 3 // rows at the top and at the bottom of a page that may be a header or a footer
	nearPages  = 3 // a header is on another page at most so far away: left and right pages, chapters
)

// numbers are what differs between the headers of two pages.
var numbers = regexp.MustCompile(`[0-9]+|\b[ivxlcIVXLC]+\b`)

// place is where a header or footer repeats.
type place struct {
	text string
	y    int
	size int
}

// series is where rows have the number of their page: the difference between both is the same.
type series struct{ y, offset int }

// leastSeries is the least number of pages whose numbers are a series.
const leastSeries = 3

// dropMargins removes headers, footers and numbers of pages: rows at the top or the bottom of pages that
// repeat at the same height, or that count the pages there. A page with nothing else keeps them.
func dropMargins(rows []row) []row {
	var tops, bottoms [][]int
	places, counts := map[place][]int{}, map[series]int{}
	for start := 0; start < len(rows); {
		end := start
		for end < len(rows) && rows[end].page == rows[start].page {
			end++
		}
		top, bottom := pageEdges(rows, start, end)
		tops, bottoms = append(tops, top), append(bottoms, bottom)
		candidates := slices.Concat(top, bottom)
		slices.Sort(candidates)
		for _, i := range slices.Compact(candidates) {
			p := placeOf(rows[i])
			places[p] = append(places[p], rows[i].page)
			if s, ok := seriesOf(rows[i]); ok {
				counts[s]++
			}
		}
		start = end
	}
	repeats := func(i int) bool {
		if s, ok := seriesOf(rows[i]); ok && counts[s] >= leastSeries || isPageNumber(rows[i]) {
			return true
		}
		return slices.ContainsFunc(places[placeOf(rows[i])], func(page int) bool {
			d := page - rows[i].page
			return d != 0 && d >= -nearPages && d <= nearPages
		})
	}
	drop := make([]bool, len(rows))
	for k := range tops {
		dropEdge(rows, tops[k], drop, repeats)
		dropEdge(rows, bottoms[k], drop, repeats)
	}
	keepFull(rows, drop)
	i := -1
	return slices.DeleteFunc(rows, func(row) bool { i++; return drop[i] })
}

// dropEdge marks rows from the edge of a page inwards, up to the first line without a repeated row.
func dropEdge(rows []row, edge []int, drop []bool, repeats func(int) bool) {
	for len(edge) > 0 {
		n := 1
		for n < len(edge) && abs(rows[edge[n]].y-rows[edge[0]].y) <= 0.35*rows[edge[0]].size {
			n++
		}
		if !slices.ContainsFunc(edge[:n], repeats) {
			return
		}
		for _, i := range edge[:n] {
			drop[i] = true
		}
		edge = edge[n:]
	}
}

// keepFull keeps the rows of pages that would have none.
func keepFull(rows []row, drop []bool) {
	for start := 0; start < len(rows); {
		end, all := start, true
		for ; end < len(rows) && rows[end].page == rows[start].page; end++ {
			all = all && drop[end]
		}
		for i := start; i < end && all; i++ {
			drop[i] = false
		}
		start = end
	}
}

// seriesOf returns the series of a row that begins or ends with a number.
func seriesOf(r row) (series, bool) {
	words := strings.Fields(r.rowText())
	for _, word := range []string{words[len(words)-1], words[0]} {
		if n, err := strconv.Atoi(word); err == nil && n < 1e6 {
			return series{roundSize(r.y), n - r.page}, true
		}
	}
	return series{}, false
}

func placeOf(r row) place {
	return place{numbers.ReplaceAllString(r.rowText(), "#"), roundSize(r.y), roundSize(r.size)}
}

// pageEdges returns the rows at the top and at the bottom of a page, with a gap to the others, the outermost
// first. Turned rows are no headers.
func pageEdges(rows []row, start, end int) (top, bottom []int) {
	order := make([]int, 0, end-start)
	for i := start; i < end; i++ {
		if rows[i].dx > 0.99 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rows[b].y, rows[a].y) })
	top = slices.Clone(order[:countEdgeRows(rows, order)])
	slices.Reverse(order)
	return top, order[:countEdgeRows(rows, order)]
}

// countEdgeRows returns how many of the first rows of order may be a header. Rows are sorted by their height.
func countEdgeRows(rows []row, order []int) int {
	n, lines := 0, 0
	for i := 0; i+1 < len(order) && lines < marginRows; i++ {
		r, next := rows[order[i]], rows[order[i+1]]
		gap := abs(r.y - next.y)
		if gap > 0.35*r.size {
			lines++
		}
		if gap > 1.3*max(r.size, next.size) {
			n = i + 1
		}
	}
	if len(order) == 1 {
		n = 1
	}
	return n
}

func abs(x float64) float64 { return max(x, -x) }

// isPageNumber reports whether a row has the number of its page only.
func isPageNumber(r row) bool {
	return strings.Trim(r.rowText(), "-–— ") == strconv.Itoa(r.page)
}

package urlschema

import (
	"cmp"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// maxURL is the maximum length of a URL, in bytes: the size of the row's column.
const maxURL = 4096

// Applies reports whether a URL has a macro of the schema.
func (s *Schema) Applies(template string) bool { return len(s.usedParameters(template)) > 0 }

// usedParameters returns the parameters whose macros occur in a URL.
func (s *Schema) usedParameters(template string) []*parameter {
	var list []*parameter
	if s.Type == TypeOff {
		return nil
	}
	for i := range s.parameters {
		p := &s.parameters[i]
		if strings.Contains(template, "%"+p.name+"%") && (s.Type != TypePredefined || len(p.values) > 0) {
			list = append(list, p)
		}
	}
	return list
}

// Generate expands a template and counts the used values in state; the caller stores state
// before it uses the URLs. It returns one URL, or in list mode the minimum of max_items,
// the longest list or range of the macros (for random parameters: max_items, default 1),
// limit and MaxURLs. limit is what the site's MaxURLs and MaxResources leave, 0 for no
// limit. The URLs are distinct and at most 4096 bytes long. A template without macros gives
// nil. Macros inside values are not expanded.
func (s *Schema) Generate(template string, state *State, random *rand.Rand, limit int) []string {
	params := s.usedParameters(template)
	if len(params) == 0 {
		return nil
	}
	count := s.countURLs(params)
	if limit > 0 {
		count = min(count, limit)
	}
	sources := make([]func() string, len(params))
	for i, p := range params {
		switch s.Type {
		case TypePredefined:
			sources[i] = p.leastUsed(state)
		case TypeIncremental:
			sources[i] = p.newCounter(state)
		case TypeRandomInt:
			sources[i] = func() string { return strconv.FormatInt(p.randomNumber(random), 10) }
		default:
			sources[i] = func() string { return p.randomText(random) }
		}
	}
	var (
		pairs = make([]string, 2*len(params)) // each macro and its value
		urls  []string
		seen  = map[string]bool{}
		size  int
	)
	// Random values repeat: twice the number of tries comes close enough.
	for tries := 0; len(urls) < count && tries < 2*count+10; tries++ {
		for i := range sources {
			pairs[2*i], pairs[2*i+1] = "%"+params[i].name+"%", sources[i]()
		}
		made, ok := replaceMacros(template, pairs)
		if !ok || seen[made] {
			if s.Type == TypePredefined || s.Type == TypeIncremental {
				count-- // the value counts as used
			}
			continue
		}
		seen[made] = true
		urls = append(urls, made)
		if size += len(made); size > maxSum {
			break
		}
	}
	return urls
}

// maxSum bounds all URLs of one call, in bytes.
const maxSum = 64 << 20

// countURLs returns how many URLs the parameters give, without the site's limits.
func (s *Schema) countURLs(params []*parameter) int {
	if !s.list {
		return 1
	}
	most := s.most
	if most == 0 {
		most = MaxURLs
		if s.Type == TypeRandomInt || s.Type == TypeRandomText {
			most = 1
		}
	}
	longest := int64(0)
	for _, p := range params {
		switch s.Type {
		case TypePredefined:
			longest = max(longest, int64(len(p.values)))
		case TypeRandomText:
			longest = MaxURLs
		default:
			longest = max(longest, p.rangeSize())
		}
	}
	return int(min(int64(most), longest))
}

// rangeSize returns the count of numbers in a range.
func (n numbers) rangeSize() int64 { return (n.max-n.min)/n.step + 1 }

// leastUsed yields the values of a list in a cycle, the least used first, else in list
// order. It drops counts of values that are no longer in the list.
func (p *parameter) leastUsed(state *State) func() string {
	use := state.useOf(p.name)
	counts := make(map[string]int64, len(p.values))
	for _, v := range p.values {
		if n := use.Counts[v]; n > 0 {
			counts[v] = n
		}
	}
	use.Counts, use.Next = counts, nil
	order := slices.Clone(p.values)
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(counts[a], counts[b]) })
	next := 0
	return func() string {
		v := order[next%len(order)]
		next++
		counts[v]++
		return v
	}
}

// newCounter yields the numbers of a range in a cycle, from the state on.
func (p *parameter) newCounter(state *State) func() string {
	use := state.useOf(p.name)
	use.Counts = nil
	if use.Next == nil || *use.Next < p.min || *use.Next > p.max {
		first := p.min
		use.Next = &first
	}
	return func() string {
		n := *use.Next
		next := n + p.step
		if next > p.max {
			next = p.min
		}
		use.Next = &next
		return strconv.FormatInt(n, 10)
	}
}

// randomNumber returns a number of the range.
func (n numbers) randomNumber(r *rand.Rand) int64 { return n.min + n.step*r.Int64N(n.rangeSize()) }

// randomText returns a random text.
func (p *parameter) randomText(r *rand.Rand) string {
	letters := "abcdefghijklmnopqrstuvwxyz"
	if p.hex {
		letters = "0123456789abcdef"
	}
	if p.upper {
		letters = strings.ToUpper(letters)
	}
	b := make([]byte, p.min+r.Int64N(p.max-p.min+1))
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

// replaceMacros replaces macros by values. It returns false if the URL becomes too long.
func replaceMacros(template string, pairs []string) (string, bool) {
	var u urlWriter
	_, err := strings.NewReplacer(pairs...).WriteString(&u, template)
	return string(u), err == nil
}

// urlWriter collects a URL. A write beyond maxURL bytes fails.
type urlWriter []byte

func (u *urlWriter) Write(p []byte) (int, error) {
	if len(*u)+len(p) > maxURL {
		return 0, io.ErrShortWrite
	}
	*u = append(*u, p...)
	return len(p), nil
}

package urlschema

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// maxURL is the longest URL that is made, in bytes: what a row holds.
const maxURL = 4096

// Applies reports whether a URL has a macro of the schema.
func (s *Schema) Applies(template string) bool { return len(s.asked(template)) > 0 }

// asked are the parameters whose macros stand in a URL.
func (s *Schema) asked(template string) []*parameter {
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

// Generate makes URLs of a template and counts in state what it used; the caller
// keeps state before it uses the URLs. It makes one, or in list mode as many as
// the least of max_items, the longest list or range of the macros (random
// parameters: max_items alone, 1 without it), limit and MaxURLs; limit is what
// the site's MaxURLs and MaxResources leave, 0 for no limit. Each URL is made
// once; those longer than a row holds are left out. A template without macros
// gives none. Values are not searched for macros again.
func (s *Schema) Generate(template string, state *State, random *rand.Rand, limit int) []string {
	asked := s.asked(template)
	if len(asked) == 0 {
		return nil
	}
	count := s.count(asked)
	if limit > 0 {
		count = min(count, limit)
	}
	sources := make([]func() string, len(asked))
	for i, p := range asked {
		switch s.Type {
		case TypePredefined:
			sources[i] = p.leastUsed(state)
		case TypeIncremental:
			sources[i] = p.counter(state)
		case TypeRandomInt:
			sources[i] = func() string { return strconv.FormatInt(p.random(random), 10) }
		default:
			sources[i] = func() string { return p.text(random) }
		}
	}
	var (
		parts  = pieces(template, asked)
		values = make([]string, len(asked))

		urls []string
		met  = map[string]bool{}
		size int
	)
	// Random values repeat: twice the number of tries is enough to come close.
	for tries := 0; len(urls) < count && tries < 2*count+10; tries++ {
		for i := range sources {
			values[i] = sources[i]()
		}
		made, ok := fill(parts, values)
		if !ok || met[made] {
			if s.Type == TypePredefined || s.Type == TypeIncremental {
				count-- // the value is used all the same
			}
			continue
		}
		met[made] = true
		urls = append(urls, made)
		if size += len(made); size > maxSum {
			break
		}
	}
	return urls
}

// maxSum bounds the URLs of one call together, in bytes.
const maxSum = 64 << 20

// count is how many URLs the asked parameters make, without the site's limits.
func (s *Schema) count(asked []*parameter) int {
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
	for _, p := range asked {
		switch s.Type {
		case TypePredefined:
			longest = max(longest, int64(len(p.values)))
		case TypeRandomText:
			longest = MaxURLs
		default:
			longest = max(longest, p.size())
		}
	}
	return int(min(int64(most), longest))
}

// size is how many numbers a range has.
func (n numbers) size() int64 { return (n.max-n.min)/n.step + 1 }

// leastUsed gives the values of a list, the least used first, then as they stand
// in the list; behind the last it begins anew. Uses of values that are no longer in the list are forgotten.
func (p *parameter) leastUsed(state *State) func() string {
	use := state.use(p.name)
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

// counter gives the numbers of a range from where the state stands; behind the
// last it begins anew.
func (p *parameter) counter(state *State) func() string {
	use := state.use(p.name)
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

// random is a number of the range.
func (n numbers) random(r *rand.Rand) int64 { return n.min + n.step*r.Int64N(n.size()) }

// text is a random text.
func (p *parameter) text(r *rand.Rand) string {
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

// piece is a text of a template, or the place of a parameter among those asked.
type piece struct {
	text string
	at   int // -1 for a text
}

// pieces takes a template apart at the macros of the asked parameters.
func pieces(template string, asked []*parameter) []piece {
	var list []piece
	begin := 0
	for i := 0; i < len(template); i++ {
		if template[i] != '%' {
			continue
		}
		for at, p := range asked {
			name, ok := strings.CutPrefix(template[i+1:], p.name)
			if !ok || !strings.HasPrefix(name, "%") {
				continue
			}
			list = append(list, piece{template[begin:i], -1}, piece{"", at})
			i += len(p.name) + 1
			begin = i + 1
			break
		}
	}
	return append(list, piece{template[begin:], -1})
}

// fill puts values in the places of macros; false when the URL becomes too long.
func fill(template []piece, values []string) (string, bool) {
	var b strings.Builder
	for _, p := range template {
		text := p.text
		if p.at >= 0 {
			text = values[p.at]
		}
		if b.Len()+len(text) > maxURL {
			return "", false
		}
		b.WriteString(text)
	}
	return b.String(), true
}

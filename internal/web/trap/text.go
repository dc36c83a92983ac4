package trap

import (
	"bytes"
	"hash/maphash"
	"regexp"
	"slices"
	"strings"

	"hce/dc/internal/web/htmltree"
)

// mostUnits bounds the texts of a page that are compared.
const mostUnits = 200

var seed = maphash.MakeSeed()

// unit is a text between two tags: its hash, and the number of its words in the lowest eight bits.
type unit uint64

func (u unit) wordCount() int { return int(u & 0xff) }

// texts is what is compared of a page.
type texts struct {
	sum   uint64 // of all texts, in any order
	units []unit // without the values of the URL, each once
}

// hidden are elements whose text no reader sees.
var hidden = []htmltree.Tag{htmltree.TagScript, htmltree.TagStyle, htmltree.TagTemplate}

// volatile are words that change with each request: times with seconds, measured times, random keys.
var volatile = regexp.MustCompile(`^(?:[0-9]{1,2}:[0-9]{2}:[0-9]{2}|[0-9]*\.[0-9]{3,}|[0-9a-fA-F-]{24,})\W?$`)

// textsOf returns the texts of an HTML page.
func textsOf(html []byte, a address) texts {
	var (
		doc htmltree.Doc
		t   texts
		own = a.echoedValues()
	)
	doc.Parse(html)
	for i := 0; i < len(doc.Nodes); i++ {
		n := &doc.Nodes[i]
		if slices.Contains(hidden, n.Tag) {
			i = max(i, int(n.End)-1)
			continue
		}
		if n.Tag != htmltree.TagText || n.Flags&htmltree.FlagBlank != 0 {
			continue
		}
		t.addText(bytes.Fields(doc.Text(n)), own)
	}
	slices.Sort(t.units)
	t.units = slices.Compact(t.units)
	return t
}

// addText adds a text between two tags.
func (t *texts) addText(words [][]byte, own map[string]bool) {
	var all, rest maphash.Hash
	all.SetSeed(seed)
	rest.SetSeed(seed)
	n := 0
	for _, w := range words {
		if len(w) > 4 && volatile.Match(w) {
			w = []byte("#")
		}
		all.Write(w)
		all.WriteByte(' ')
		if len(own) > 0 && own[echoForm(string(w))] {
			continue
		}
		rest.Write(w)
		rest.WriteByte(' ')
		n++
	}
	t.sum += all.Sum64()
	if n > 0 && len(t.units) < mostUnits {
		t.units = append(t.units, unit(rest.Sum64()&^0xff|uint64(min(n, 255))))
	}
}

// echoedValues are the values of the URL that its page may repeat without saying anything new: words of filters,
// and numbers of dates.
func (a address) echoedValues() map[string]bool {
	dated, own := a.namesDate(), map[string]bool{}
	if !dated && len(a.params) < 2 {
		return own
	}
	add := func(value string) {
		for _, part := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune("-_+/.:,%", r) }) {
			if number := digits.MatchString(part); !number || dated {
				own[echoForm(part)] = true
			}
		}
		if dated {
			own[echoForm(value)] = true
		}
	}
	for _, p := range a.params {
		add(p.value)
	}
	if len(a.params) == 0 {
		add(a.path)
	}
	return own
}

// echoForm is a word as it is compared with a value: in lower case, without punctuation and leading zeros.
func echoForm(word string) string {
	return strings.TrimLeft(strings.Trim(strings.ToLower(word), `.,:;()[]"'`), "0")
}

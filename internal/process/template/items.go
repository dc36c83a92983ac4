package template

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"hce/dc/internal/web/xpath"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/result"
)

// maxItems bounds the items of a page.
const maxItems = 10_000

// Items returns one result for each item of a page, such as a row of a list
// (docs/spec/processing.md 3.7). The items are the children of the container: the matches of
// the template's container, or the element that is guessed from the places of the values.
// The tags of an item follow the rules of Apply, without formats that shorten or convert. Items
// without a mandatory tag are dropped; a tag is mandatory if all its rules are. Each result has
// order_number, from 1 without gaps, and source_url. If no item is left, one result without
// other tags is returned.
func (t *Template) Items(ctx context.Context, doc *xpath.Document, o Options) ([]result.Result, []Problem) {
	x := newRun(ctx, doc, t, o)
	x.asItems = true
	x.problems = append(x.problems, t.problems...)
	within := x.findContainers()
	all := x.collectAll(t.tags, within)
	items := x.buildItems(all, x.itemNumbering(all, within))
	if len(items) == 0 {
		items = []result.Result{{}}
	}
	for i := range items {
		x.addServiceTags(&items[i], i+1)
	}
	if o.Trace != nil {
		o.Trace.Tags = traceParts(t.tags, all, "used in the items")
		o.Trace.Items, o.Trace.Problems = len(items), x.problems
	}
	return items, x.problems
}

// collectAll takes the values of all rules of tags, see collectValues.
func (x *run) collectAll(tags []tag, within []*html.Node) [][]finding {
	all := make([][]finding, len(tags))
	for i := range tags {
		all[i] = x.newFindings(&tags[i])
		for j := range all[i] {
			x.collectValues(tags[i].name, &all[i][j], within)
		}
	}
	return all
}

func (x *run) addServiceTags(r *result.Result, number int) {
	if len(r.Tags) > 0 {
		r.Add(result.Tag{Name: "order_number", Data: []string{strconv.Itoa(number)}, Extractor: result.Service})
	}
	r.Add(result.Tag{Name: "source_url", Data: []string{x.o.URL}, Extractor: result.Service})
}

func (x *run) addNote(format string, args ...any) {
	if x.o.Trace != nil && len(x.o.Trace.Notes) < maxNotes {
		x.o.Trace.Notes = append(x.o.Trace.Notes, fmt.Sprintf(format, args...))
	}
}

// itemNumbering returns the function that gives the item of a node: a number of at least 0, or -1
// outside of all items. within are the matches of the template's container; nil: it has none.
func (x *run) itemNumbering(all [][]finding, within []*html.Node) func(*html.Node) int {
	if within != nil {
		return containerNumbers(within)
	}
	c := guessContainer(all)
	if c == nil {
		x.addNote("no container was found: all values are one item")
		return func(*html.Node) int { return 0 }
	}
	if x.o.Trace != nil {
		x.o.Trace.Container = pathOf(c)
	}
	children := map[*html.Node]int{}
	for n := c.FirstChild; n != nil; n = n.NextSibling {
		children[n] = len(children)
	}
	return func(n *html.Node) int {
		if child := childOf(c, n); child != nil {
			return children[child]
		}
		return -1
	}
}

// findContainers returns the matches of the template's container; nil: it has none.
func (x *run) findContainers() []*html.Node {
	if x.t.container == nil {
		return nil
	}
	matches, _, err := x.t.container.findMatches(x.ctx, x.doc, xpath.Limits{Matches: maxItems, Steps: &x.steps})
	if err != nil {
		x.addProblem(errormask.Scraper, "", 0, `"container": %v`, err)
	}
	nodes := make([]*html.Node, 0, len(matches))
	for _, m := range matches {
		if m.Node != nil {
			nodes = append(nodes, m.Node)
		}
	}
	x.addNote("the container of the template has %d matches", len(nodes))
	return nodes
}

// containerNumbers returns the function that gives the number of the nearest of some nodes around a node; -1:
// no such node.
func containerNumbers(nodes []*html.Node) func(*html.Node) int {
	number := make(map[*html.Node]int, len(nodes))
	for i, n := range nodes {
		number[n] = i
	}
	return func(n *html.Node) int {
		for ; n != nil; n = n.Parent {
			if i, ok := number[n]; ok {
				return i
			}
		}
		return -1
	}
}

// buildItems builds the items and drops those that are not complete.
func (x *run) buildItems(all [][]finding, number func(*html.Node) int) (items []result.Result) {
	groups, order := x.groupValues(all, number)
	for i, n := range order {
		if len(items) == maxItems {
			x.addProblem(errormask.MaxItems, "", 0, "more than %d items; the rest is ignored", maxItems)
			break
		}
		if r, ok := x.buildItem(x.t.tags, groups[n], i+1); ok {
			items = append(items, r)
		}
	}
	return items
}

// place is a rule: the index of its tag, and its own.
type rulePlace struct{ tag, rule int }

// groupValues returns the values of each item by rule, and the numbers of the items in order. Values
// that an expression computes belong to all items.
func (x *run) groupValues(all [][]finding, number func(*html.Node) int) (groups map[int]map[rulePlace][]string, order []int) {
	groups = map[int]map[rulePlace][]string{}
	each := func(use func(at rulePlace, p part)) {
		for i := range all {
			for j := range all[i] {
				for _, p := range all[i][j].parts {
					use(rulePlace{i, j}, p)
				}
			}
		}
	}
	outside := 0
	each(func(at rulePlace, p part) {
		n := p.in
		if n < 0 {
			if p.match.Node == nil {
				return
			}
			n = number(p.match.Node)
		}
		if n < 0 {
			outside++
			return
		}
		if groups[n] == nil {
			groups[n] = map[rulePlace][]string{}
			order = append(order, n)
		}
		groups[n][at] = append(groups[n][at], p.values...)
	})
	each(func(at rulePlace, p part) {
		if p.in < 0 && p.match.Node == nil {
			for _, n := range order {
				groups[n][at] = append(groups[n][at], p.values...)
			}
		}
	})
	if outside > 0 {
		x.addNote("%d values outside of the items were ignored", outside)
	}
	slices.Sort(order)
	return groups, order
}

// buildItem builds the item with this number in the page of the values of its rules. It returns false if
// the item is dropped.
func (x *run) buildItem(tags []tag, values map[rulePlace][]string, number int) (r result.Result, ok bool) {
	found := false
	for i := range tags {
		g := &tags[i]
		list := x.newFindings(g)
		for j := range list {
			list[j].done = true
			list[j].finishValue(x, g.name, values[rulePlace{i, j}])
		}
		tag := x.joinTag(g, list)
		if (tag == nil || tag.Default) && g.isMandatory() {
			x.addNote("item %d of the page is dropped: it has no %s, which is mandatory", number, x.inside+g.name)
			return r, false
		}
		if tag != nil {
			r.Add(*tag)
			found = found || !tag.Default
		}
	}
	return r, found
}

// isMandatory reports whether an item needs the tag.
func (g *tag) isMandatory() bool {
	return !slices.ContainsFunc(g.rules, func(r *rule) bool { return !r.mandatory })
}

// candidate is an element that may be the container.
type candidate struct {
	node  *html.Node
	count int // neighbouring values of a rule whose nearest common element it is
	place int // by its first pair of values
	score int
}

// maxCandidates bounds the containers that are compared.
const maxCandidates = 16

// guessContainer returns the container of the items, nil without a candidate. Neighbouring values of one
// rule belong to different items, so their nearest common element is a candidate. The best
// candidate has the items with the most tags, then the most pairs.
func guessContainer(all [][]finding) *html.Node {
	counts := map[*html.Node]*candidate{}
	var list []*candidate
	for i := range all {
		for j := range all[i] {
			nodes := placesOf(all[i][j].parts)
			for k := 1; k < len(nodes); k++ {
				n := commonAncestor(nodes[k-1], nodes[k])
				if n == nil {
					continue
				}
				if counts[n] == nil {
					counts[n] = &candidate{node: n, place: len(list)}
					list = append(list, counts[n])
				}
				counts[n].count++
			}
		}
	}
	slices.SortFunc(list, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.place, b.place))
	})
	var best *candidate
	for _, c := range list[:min(len(list), maxCandidates)] {
		if c.judgeItems(all) && (best == nil || c.score > best.score) {
			best = c
		}
	}
	if best == nil {
		return nil
	}
	return best.node
}

// placesOf returns the nodes of values, without those that an expression computed.
func placesOf(parts []part) (nodes []*html.Node) {
	for _, p := range parts {
		if p.match.Node != nil {
			nodes = append(nodes, p.match.Node)
		}
	}
	return nodes
}

// paragraphs are elements that continue a text: as children of the container they are no items.
var paragraphs = setOf("p blockquote pre br")

// judgeItems counts the tags that the items of a candidate have beyond the first. It returns false if
// its children would be no items: paragraphs of one text, or the values of several tags side
// by side.
func (c *candidate) judgeItems(all [][]finding) bool {
	tags := map[*html.Node]map[int]bool{}
	used := map[int]bool{}
	direct, texts := true, true // all values are children; all are paragraphs
	for i := range all {
		for j := range all[i] {
			for _, n := range placesOf(all[i][j].parts) {
				child := childOf(c.node, n)
				if child == nil {
					continue
				}
				if tags[child] == nil {
					tags[child] = map[int]bool{}
				}
				tags[child][i], used[i] = true, true
				direct = direct && child == n
				texts = texts && (n.Type == html.TextNode || paragraphs[n.Data])
			}
		}
	}
	for _, t := range tags {
		c.score += len(t) - 1
	}
	return !direct || len(used) == 1 && !texts
}

// childOf returns the child of c that is n or contains it; nil if n is not below c.
func childOf(c, n *html.Node) *html.Node {
	for ; n != nil; n = n.Parent {
		if n.Parent == c {
			return n
		}
	}
	return nil
}

func nodeDepth(n *html.Node) (d int) {
	for ; n != nil; n = n.Parent {
		d++
	}
	return d
}

// commonAncestor returns the nearest element that contains a and b; nil if one contains the other.
func commonAncestor(a, b *html.Node) *html.Node {
	da, db := nodeDepth(a), nodeDepth(b)
	x, y := a, b
	for ; da > db; da-- {
		x = x.Parent
	}
	for ; db > da; db-- {
		y = y.Parent
	}
	if x == y {
		return nil
	}
	for x.Parent != y.Parent {
		x, y = x.Parent, y.Parent
	}
	return x.Parent
}

// pathOf describes the place of an element: html/body/ul[2].
func pathOf(n *html.Node) string {
	var names []string
	for ; n != nil && n.Type == html.ElementNode; n = n.Parent {
		name, same, at := n.Data, 0, 0
		if n.Parent != nil {
			for c := n.Parent.FirstChild; c != nil; c = c.NextSibling {
				if c.Type == html.ElementNode && c.Data == n.Data {
					if same++; c == n {
						at = same
					}
				}
			}
		}
		if same > 1 {
			name += "[" + strconv.Itoa(at) + "]"
		}
		names = append(names, name)
	}
	slices.Reverse(names)
	return strings.Join(names, "/")
}

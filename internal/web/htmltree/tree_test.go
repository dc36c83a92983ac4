package htmltree

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// dump writes trees as the tests of html5lib do, without attributes, comments and doctypes. Texts next to each
// other are one.
type dump struct {
	out, text strings.Builder
	depth     int
}

func (d *dump) addText(depth int, text string) {
	if d.depth != depth {
		d.flush()
	}
	d.depth = depth
	d.text.WriteString(text)
}

func (d *dump) flush() {
	if d.text.Len() > 0 {
		fmt.Fprintf(&d.out, "%s%q\n", strings.Repeat(" ", d.depth), d.text.String())
		d.text.Reset()
	}
}

func (d *dump) element(depth int, name string) {
	d.flush()
	fmt.Fprintf(&d.out, "%s<%s>\n", strings.Repeat(" ", depth), strings.ToLower(name))
}

// expected reads the wanted tree of a test.
func expected(lines []string) string {
	var d dump
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		for i+1 < len(lines) && !strings.HasPrefix(lines[i+1], "| ") {
			i++
			line += "\n" + lines[i]
		}
		line, _ = strings.CutPrefix(line, "| ")
		depth := 0
		for strings.HasPrefix(line, "  ") {
			line, depth = line[2:], depth+1
		}
		switch {
		case strings.HasPrefix(line, "<!--"), strings.HasPrefix(line, "<!DOCTYPE"), strings.HasPrefix(line, "<?"):
		case line == "content":
			d.element(depth, "#content")
		case strings.HasPrefix(line, "<") && strings.HasSuffix(line, ">"):
			d.element(depth, line[1:len(line)-1])
		case strings.HasPrefix(line, `"`):
			d.addText(depth, line[1:len(line)-1])
		}
	}
	d.flush()
	return d.out.String()
}

// dumpNet writes a tree of x/net.
func (d *dump) dumpNet(n *html.Node, depth int) {
	switch n.Type {
	case html.TextNode:
		d.addText(depth, n.Data)
		return
	case html.ElementNode:
		name := n.Data
		if n.Namespace != "" {
			name = n.Namespace + " " + name
		}
		d.element(depth, name)
		depth++
		if name == "template" {
			d.element(depth, "#content")
			depth++
		}
	case html.DocumentNode:
	default:
		return
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		d.dumpNet(c, depth)
	}
	d.flush()
}

// dumpDoc writes a tree of this package.
func dumpDoc(doc *Doc) string {
	var d dump
	var write func(i int32, depth int)
	write = func(i int32, depth int) {
		n := &doc.Nodes[i]
		switch n.Tag {
		case TagText:
			d.addText(depth, string(doc.Text(n)))
			return
		case TagRoot:
		default:
			d.element(depth, nameOf(doc, n))
			depth++
			if n.Tag == TagTemplate {
				d.element(depth, "#content")
				depth++
			}
		}
		for c := i + 1; c < n.End; c = doc.Nodes[c].End {
			write(c, depth)
		}
		d.flush()
	}
	write(0, 0)
	return d.out.String()
}

// nameOf returns the name of an element, with its namespace.
func nameOf(d *Doc, n *Node) string {
	name := string(d.Name(n))
	switch {
	case n.Flags&flagSVG != 0:
		return "svg " + name
	case n.Flags&flagMath != 0:
		return "math " + name
	case n.Tag != TagOther:
		for name, tag := range TagNames {
			if tag == n.Tag && name != "image" {
				return name
			}
		}
	}
	return name
}

// construction is a test of tree construction.
type construction struct {
	name, data string
	want       []string
}

// readConstructions reads the tests of a file: those of whole pages without scripts.
func readConstructions(t *testing.T, path string) (all []construction) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n, part := range strings.Split("\n"+string(text), "\n#data\n")[1:] {
		data, rest, _ := strings.Cut("\n"+part, "\n#errors")
		before, tree, found := strings.Cut(rest, "\n#document\n")
		if !found || strings.Contains(before, "#document-fragment") || strings.Contains(before, "#script-on") {
			continue
		}
		all = append(all, construction{
			name: fmt.Sprintf("%s %d", filepath.Base(path), n+1), data: strings.TrimPrefix(data, "\n"),
			want: strings.Split(strings.TrimRight(tree, "\n"), "\n"),
		})
	}
	return all
}

// The tests of html5lib, which come with golang.org/x/net: this parser passes those that x/net/html passes. Neither of them knows
// the element selectedcontent.
func TestConstruction(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/net").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(strings.TrimSpace(string(dir)), "html", "testdata")
	paths, _ := filepath.Glob(filepath.Join(root, "html5lib-tests", "tree-construction", "*.dat"))
	more, _ := filepath.Glob(filepath.Join(root, "go", "*.dat"))
	all, right := 0, 0
	for _, path := range append(paths, more...) {
		for _, c := range readConstructions(t, path) {
			all++
			d := Doc{Strict: true}
			d.Parse([]byte(c.data))
			checkSound(t, &d, c.data)
			got, want := dumpDoc(&d), expected(c.want)
			switch {
			case got == want:
				right++
			case !strings.Contains(c.data, "selectedcontent"):
				t.Errorf("%s: %q\ngot\n%swant\n%s", c.name, c.data, got, want)
			}
		}
	}
	t.Logf("judge: tree construction %d of %d", right, all)
	if all < 1500 || all-right > 4 {
		t.Errorf("%d of %d tests pass", right, all)
	}
}

// checkSound checks that the nodes are a tree in document order.
func checkSound(t *testing.T, d *Doc, page string) {
	t.Helper()
	if len(d.Nodes) < 2 || d.Nodes[1].Tag != TagHTML || len(d.Nodes) > 50*len(page)+2000 {
		t.Fatalf("%d nodes for %d bytes", len(d.Nodes), len(page))
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.End <= int32(i) || int(n.End) > len(d.Nodes) || i > 0 && (n.Parent < 0 || n.Parent >= int32(i) || d.Nodes[n.Parent].End < n.End) {
			t.Fatalf("%.200q: node %d of %d: %+v", page, i, len(d.Nodes), *n)
		}
		if n.Tag == TagText && (n.End != int32(i)+1 || len(d.Text(n)) != int(n.B-n.A)) {
			t.Fatalf("%.200q: text %d: %+v", page, i, *n)
		}
	}
}

var (
	randomTags = strings.Fields("p p div div span b i a a em font nobr table tr td th tbody thead caption col ul li dl dt dd h1 h2 pre select option " +
		"optgroup form input button br hr img svg math desc foreignObject mi annotation-xml template title textarea style script object applet marquee ruby rt rp html head body foo iframe code section article li td a b table")
	randomTexts      = []string{"a", " ", "\n", "&amp;", "&lt", "&copy;x", "<", "&#65;", "<!--c-->", "x y", "<!DOCTYPE html>", "&notit;", "<![CDATA[q]]>", "\r\n", "&nbsp;"}
	randomAttributes = []string{" href=x", " class='a b'", " type=hidden", " color=red", " encoding=text/html", " id=\"&amp;\"", "/", " a=1 b=2", " b=2 a=1"}
)

// randomPage writes a page with many mistakes.
func randomPage(r *rand.Rand) string {
	b := strings.Builder{}
	if r.IntN(2) == 0 {
		b.WriteString("<!DOCTYPE html>")
	}
	for range r.IntN(40) {
		switch r.IntN(5) {
		case 0, 1:
			b.WriteString("<" + randomTags[r.IntN(len(randomTags))])
			if r.IntN(6) == 0 {
				b.WriteString(randomAttributes[r.IntN(len(randomAttributes))])
			}
			b.WriteString(">")
		case 2:
			b.WriteString("</" + randomTags[r.IntN(len(randomTags))] + ">")
		default:
			b.WriteString(randomTexts[r.IntN(len(randomTexts))])
		}
	}
	return b.String()
}

// agrees compares the tree of a page with that of x/net/html. compared is false for a page that x/net does not parse.
func agrees(page string) (got, want string, compared bool) {
	root, err := html.ParseWithOptions(strings.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil {
		return "", "", false
	}
	var d dump
	d.dumpNet(root, 0)
	d.flush()
	doc := Doc{Strict: true}
	doc.Parse([]byte(page))
	return dumpDoc(&doc), d.out.String(), true
}

// isReadOtherwise reports whether a page has what x/net/html v0.62.0 reads otherwise than the standard: a doctype in capitals
// counts as quirks mode, th does not close caption, a template below an SVG title is lost, and a line feed behind <pre> and an end
// tag that is ignored is dropped.
func isReadOtherwise(page string) bool {
	return strings.Contains(page, "<!DOCTYPE") || strings.Contains(page, "<caption") && strings.Contains(page, "<th") ||
		strings.Contains(page, "<svg") && strings.Contains(page, "<template") || strings.Contains(page, "<pre") && strings.Contains(page, "\n")
}

// withoutBlanks removes blank texts, and the line feeds at the begin of texts, from a dumped tree.
func withoutBlanks(tree string) string {
	var b strings.Builder
	for line := range strings.Lines(tree) {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		if text, err := strconv.Unquote(strings.TrimSpace(line)); err == nil {
			if text = strings.Trim(text, " \n"); text == "" {
				continue
			}
			line = indent + strconv.Quote(text) + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// Pages with many mistakes have the tree that x/net/html gives them. Blanks are not compared: x/net drops a line feed behind
// <pre> and tags that mean nothing, though only the next token counts.
func TestTreeIsThatOfNet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 29))
	pages, differ := 0, 0
	for range 20_000 {
		page := randomPage(r)
		got, want, ok := agrees(page)
		if !ok {
			continue
		}
		pages++
		if withoutBlanks(got) == withoutBlanks(want) || isReadOtherwise(page) {
			continue
		}
		if differ++; differ < 5 {
			t.Errorf("%q\ngot\n%swant\n%s", page, got, want)
		}
	}
	t.Logf("%d of %d pages differ", differ, pages)
}

// FuzzTree checks that any page gives a sound tree in both modes, and reports where it differs from that of x/net/html.
func FuzzTree(f *testing.F) {
	for _, s := range []string{
		"<p>a<b>b<p>c</b>d", "<table><tr>a<td>b<table>c</table>", "<svg><desc><p>a</svg>b", "<template><tr><td>a</template>", "<select><option>a<optgroup>b</select>",
		"<math><annotation-xml encoding=text/html><p>a", "<a href=x>a<div><a href=y>b", "<!doctype html public '-//W3C//DTD HTML 3.2'><p><table>", "<frameset><frame>a",
		"<textarea>\n&lt;", "<script><!--<script></script>--></script>a", "<nobr><nobr><i><table><nobr>a", "&#x80;&notit;&copy=", "a\x00b\r\nc",
		"<form><table><form><input type=hidden></form>", "<body a=b><html lang=x><body class=y>", "<h1><h2>a</h1>b", "<li><div><li>", "<plaintext>a</plaintext>b",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		page = bytes.ToValidUTF8(page, nil)
		for _, strict := range []bool{true, false} {
			d := Doc{Strict: strict}
			d.Parse(page)
			checkSound(t, &d, string(page))
		}
	})
}

// A page of lenient mode shows what a standard parser would hide: the rest behind a title without an end tag.
func TestLenient(t *testing.T) {
	for page, want := range map[string]string{
		"<textarea>a<p>b":               "<html>\n <head>\n <body>\n  <textarea>\n  \"a\"\n  <p>\n   \"b\"\n",
		"<title>a":                      "<html>\n <head>\n  <title>\n <body>\n  \"a\"\n",
		"<noscript><p>a</noscript>b":    "<html>\n <head>\n  <noscript>\n   \"<p>a\"\n <body>\n  \"b\"\n",
		"x<noscript><div>c</noscript>d": "<html>\n <head>\n <body>\n  \"x\"\n  <noscript>\n   <div>\n    \"c\"\n  \"d\"\n",
		"\ufeff<p>a":                    "<html>\n <head>\n <body>\n  <p>\n   \"a\"\n",
	} {
		var d Doc
		d.Parse([]byte(page))
		if got := dumpDoc(&d); got != want {
			t.Errorf("%q\ngot\n%swant\n%s", page, got, want)
		}
	}
}

// hostileUnits are mark-up that costs a parser more than its size, when it is repeated.
var hostileUnits = []string{
	"<", "<div>", "<b>", "</b>", "<p>x", "<a>", "<textarea>", "<table>", "<li>", "<svg>", "<math>", "<!--", "&amp;", "&x", "&nGt;", "<a href='", "<td>", "<p class=x>", "<i></p>",
	"<option>", "<select>", "<iframe>", "<table><tr>x", "<b><table>", "</table>", "<template>", "<nobr>", "<h1>", "<dd>", "<button>", "<form>", "<ruby><rt>", "<script><!--<script>",
	"<title>", "<b a=1 b=2>", "<b><p></b>", "<a><div></a>", "<body a>", "<frameset>", "\x00", "\r", "<font color=1><p>", "<x-y>", "</x-y>",
}

// The tree of hostile pages is linear in their size. Time: go test -bench Hostile.
func TestHostilePagesHaveSmallTrees(t *testing.T) {
	for _, unit := range hostileUnits {
		var size [2]int
		for k, n := range []int{20_000, 40_000} {
			page := strings.Repeat(unit, n)
			var d Doc
			d.Parse([]byte(page))
			checkSound(t, &d, page)
			size[k] = len(d.Nodes) + len(d.Attrs) + len(d.dec) + d.parser.work + d.parser.clones
		}
		if size[1] > 2*size[0]+size[0]/2+1000 {
			t.Errorf("%q: %d and %d", unit, size[0], size[1])
		}
	}
}

func BenchmarkHostile(b *testing.B) {
	numbered := strings.Builder{}
	for i := 0; numbered.Len() < 2<<20; i++ {
		fmt.Fprintf(&numbered, "<font color=%d>", i)
	}
	run := func(name, page string) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(page)))
			var d Doc
			for b.Loop() {
				d.Parse([]byte(page))
			}
		})
	}
	run("<font color=N>", numbered.String())
	for _, unit := range hostileUnits {
		run(unit, strings.Repeat(unit, 2<<20/len(unit)))
	}
}

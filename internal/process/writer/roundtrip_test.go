package writer

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkRoundtrip checks that a parser of CommonMark reads the blocks that the writer means.
func checkRoundtrip(t *testing.T, text string) bool {
	t.Helper()
	w := page(text)
	var r recorder
	w.writeLines(&r)
	markdown := w.AppendMarkdown(nil)
	if !compareBlocks(t, "Markdown", r.lines, parsed(t, markdown)) {
		t.Logf("page:\n%.3000s\nMarkdown:\n%.3000s", text, markdown)
		return false
	}
	return true
}

func compareBlocks(t *testing.T, what string, want, got []string) bool {
	t.Helper()
	for i := range max(len(want), len(got)) {
		var a, b string
		if i < len(want) {
			a = want[i]
		}
		if i < len(got) {
			b = got[i]
		}
		if a != b {
			t.Errorf("%s: block %d:\nmeant %s\nread  %s", what, i, a, b)
			return false
		}
	}
	return true
}

// generator makes pages of all elements that the writer knows, with texts that look like Markdown.
type generator struct {
	*rand.Rand
	b strings.Builder
}

var hostileWords = strings.Fields("word * _ ` # ## ####### + - -- --- = === > >> 1. 23) 1234567890. ~ ~~ ~~~ | || \\ \\\\ &lt; &amp; &amp;lt; &amp;lt; &lt;b &lt;b> &lt;?php &lt;!-- ! ![ [ ] [x] [x]: (y) " +
	"]( a*b _a_ __a__ snake_case `` ``` &amp;copy &amp;copy; http://a.example/b_c_d_ www.x.example a@b.example :-- |---| --|-- ** *** \"q\" (x) … “y” é 漢字 . , ; : &#x1F600; 100% $5 ^ a~b ~a a~ **b** [^1] [^1]: - [ ] === ---")

func (g *generator) one(choices ...string) string { return choices[g.IntN(len(choices))] }

func (g *generator) words(n int) string {
	var b strings.Builder
	for range 1 + g.IntN(n) {
		b.WriteString(hostileWords[g.IntN(len(hostileWords))])
		b.WriteString(g.one(" ", " ", "\n", "", "", "&nbsp;", "&shy;"))
	}
	return b.String()
}

func (g *generator) inline(depth int) string {
	var b strings.Builder
	for range 1 + g.IntN(4) {
		if depth == 0 || g.IntN(3) == 0 {
			b.WriteString(g.words(4))
			continue
		}
		tag := g.one("em", "strong", "code", "del", "sup", "sub", "a href=x_y(z)", "a href='javascript:x()'", "span", "b", "i", "kbd", "q", "mark", "abbr")
		name, _, _ := strings.Cut(tag, " ")
		fmt.Fprintf(&b, "<%s>%s</%s>%s", tag, g.inline(depth-1), name, g.one("", " ", "x", "."))
	}
	return b.String()
}

func (g *generator) blocks(depth int) {
	for range 1 + g.IntN(4) {
		switch k := g.IntN(14); {
		case k < 4 || depth == 0:
			fmt.Fprintf(&g.b, "<p>%s</p>\n", g.inline(2))
		case k == 4:
			fmt.Fprintf(&g.b, "<p>%s<br>%s</p>", g.inline(1), g.inline(1))
		case k == 5:
			level := 1 + g.IntN(6)
			fmt.Fprintf(&g.b, "<h%d>%s</h%d>", level, g.inline(1), level)
		case k == 6:
			fmt.Fprintf(&g.b, "<pre><code class=language-go>%s\n\n  %s\n%s</code></pre>", g.words(5), g.words(3), g.one("", "\tx\n", "```\n", "````", "~~~"))
		case k == 7:
			g.b.WriteString("<blockquote>")
			g.blocks(depth - 1)
			g.b.WriteString("</blockquote>")
		case k < 11:
			g.list(depth)
		case k == 11:
			g.table()
		case k == 12:
			fmt.Fprintf(&g.b, "<dl><dt>%s</dt><dd>%s</dd></dl>", g.inline(1), g.inline(1))
		default:
			fmt.Fprintf(&g.b, "<div>%s<hr>%s</div>", g.inline(1), g.inline(1))
		}
	}
}

func (g *generator) list(depth int) {
	tag := g.one("ul", "ol", "ol start=7", "ol start=98")
	name, _, _ := strings.Cut(tag, " ")
	fmt.Fprintf(&g.b, "<%s>", tag)
	for range 1 + g.IntN(3) {
		g.b.WriteString("<li>")
		if g.IntN(3) > 0 {
			g.b.WriteString(g.inline(1))
		}
		if g.IntN(3) == 0 {
			g.blocks(depth - 1)
		}
		g.b.WriteString("</li>")
	}
	fmt.Fprintf(&g.b, "</%s>", name)
}

func (g *generator) table() {
	g.b.WriteString("<table>")
	for row := range 2 + g.IntN(3) {
		g.b.WriteString("<tr>")
		for range 2 + g.IntN(2) {
			tag := "td"
			if row == 0 {
				tag = "th"
			}
			fmt.Fprintf(&g.b, "<%s%s>%s</%s>", tag, g.one("", "", "", " colspan=2", " rowspan=2"), g.one(g.inline(1), g.inline(1)+"<br>x", "<p>a</p><p>b|c</p>", "<pre>x | y\n  z`</pre>", "<ul><li>a<li>b</ul>", ""), tag)
		}
		g.b.WriteString("</tr>")
	}
	g.b.WriteString("</table>")
}

func TestMarkdownParsesBack(t *testing.T) {
	for seed := range uint64(1200) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 1))}
		g.blocks(3)
		if !checkRoundtrip(t, g.b.String()) {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestHTMLParsesBack(t *testing.T) {
	for seed := range uint64(400) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 2))}
		g.blocks(3)
		w := page(g.b.String())
		var r recorder
		w.writeLines(&r)
		if text := w.AppendHTML(nil); !compareBlocks(t, "HTML", r.lines, blocksOf(t, text)) {
			t.Fatalf("seed %d\n%s\n%s", seed, g.b.String(), text)
		}
	}
}

// The pages of the corpus of the extractors, with all their lines.
func TestCorpusParsesBack(t *testing.T) {
	names, _ := filepath.Glob("../extractor/testdata/corpus/*.html")
	if len(names) < 50 {
		t.Fatalf("%d pages", len(names))
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !checkRoundtrip(t, string(text)) {
			t.Errorf("in %s", name)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("<p>a <em>*b*</em>c<br>- d</p><ol start=3><li>x<pre>```</pre></ol>")
	f.Add("<table><tr><th>a|b<th>c<tr><td><pre>`|`</pre><td>d</table><h2>#</h2>")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "\x00") {
			return
		}
		checkRoundtrip(t, strings.ToValidUTF8(text, ""))
	})
}

package writer

import (
	"strings"
	"testing"
)

// kinds are pages and what is written of them. A text of "-" is that of the Markdown.
var kinds = []struct{ name, html, markdown, text string }{
	// Names are weak evidence.
	{"section named like a box of comments", "<section id=comments><h2 id=comments>Comments</h2><p>Begin with #.</p></section>", "## Comments\n\nBegin with #.", "Comments\nBegin with #."},
	{"classes of frameworks", "<div class='navbar tags cookies footer toc'><p>text</p></div>", "text", "-"},
	{"hidden", "<p hidden>x</p><p style='display: none'>x</p><p class=sr-only>x</p><p>y</p>", "y", "-"},
	{"hidden until found", "<p hidden=until-found>x</p>", "x", "-"},
	{"panel of a tab", "<div role=tablist><button role=tab aria-controls=b>B</button></div><div id=b role=tabpanel hidden><p>second tab</p></div>", "B\n\nsecond tab", "B\nsecond tab"},
	{"panel that a button opens", "<button aria-controls='a1 a2'>Why?</button><div id=a2 hidden>Because.</div>", "Why?\n\nBecause.", "Why?\nBecause."},
	{"part of an accordion", "<div class=accordion-content style='display:none'>Because.</div>", "Because.", "-"},
	{"menu that a button opens", "<button aria-controls=m>Menu</button><nav id=m hidden>Home</nav>", "Menu", "-"},
	{"mark that leads to a heading", "<h2>Plans <a href=#p>¶</a></h2><h3>C <a href='x.html#c'>#</a></h3>", "## Plans\n\n### C", "Plans\nC"},
	{"button behind a heading", "<h2>Plans <button>Copy</button></h2><h3><button>Dates</button></h3>", "## Plans\n\n### Dates", "Plans\nDates"},
	{"details", "<details><summary>More</summary>Never open it.</details>", "**More**\n\nNever open it.", "More\nNever open it."},
	{"cite of a quote", "<blockquote>...us all.<p><cite>Anna</cite></p></blockquote>", "> ...us all.\n>\n> *Anna*", "...us all.\nAnna"},
	{"address", "<address>Quay 7<br>Harbourtown</address>", "Quay 7  \nHarbourtown", "Quay 7\nHarbourtown"},
	{"definition list", "<dl><dt>term</dt><dd>meaning</dd></dl>", "**term**\n\nmeaning", "term\nmeaning"},
	{"paragraph of DocBook", "<div class=para>One.</div><div class=para>Two.</div>", "One.\n\nTwo.", "One.\nTwo."},
	{"admonition", "<div class='admonition note'><p class=admonition-title>Note</p><p>Mind the gap.</p></div>", "**Note**\n\nMind the gap.", "Note\nMind the gap."},
	{"figure", "<figure><img src=a.png alt=Mill><figcaption>The mill</figcaption></figure>", "The mill", "-"},
	{"lazy image with its copy", "<p>a <img src=data:x><noscript><img src=a.png>copy</noscript> b</p><p>" + strings.Repeat("word ", 60), "a b\n\n" + strings.TrimSpace(strings.Repeat("word ", 60)), "a b\n" + strings.TrimSpace(strings.Repeat("word ", 60))},
	{"page in noscript", "<body><noscript><p>All of it.</p></noscript>", "All of it.", "-"},

	// Tables.
	{"line breaks in cells", "<table><tr><th>Port<th>High<tr><td>Cork<br>north<td>1.5<tr><td><p>Aden<p>east<td>2.1</table>",
		"| Port | High |\n|---|---|\n| Cork<br>north | 1.5 |\n| Aden<br>east | 2.1 |", "Port High\nCork\nnorth 1.5\nAden\neast 2.1"},
	{"listing and list in cells", "<table><tr><th>A<th>B<tr><td><pre>a | b\n  c</pre><td><ul><li>x<li>y</ul></table>", "| A | B |\n|---|---|\n| `a \\| b`<br>`  c` | x<br>y |", "A B\na | b\n  c x\ny"},
	{"heading and bars in cells", "<table><tr><td><h3>H</h3>a|b<td><code>c|d</code><tr><td>1<td>2</table>", "| H<br>a\\|b | `c\\|d` |\n|---|---|\n| 1 | 2 |", "H\na|b c|d\n1 2"},
	{"spans", "<table><tr><th colspan=2>A<th>B<tr><td rowspan=2>1<td>2<td>3<tr><td>4<td>5</table>", "| A | | B |\n|---|---|---|\n| 1 | 2 | 3 |\n| | 4 | 5 |", "A B\n1 2 3\n4 5"},
	{"caption", "<table><caption>Tides</caption><tr><th>A<th>B<tr><td>1<td>2</table>", "Tides\n\n| A | B |\n|---|---|\n| 1 | 2 |", "Tides\nA B\n1 2"},
	{"column of heads", "<table><tr><th>Weight<td>2 kg<tr><th>Size<td>20 cm</table>", "| Weight | 2 kg |\n|---|---|\n| Size | 20 cm |", "Weight 2 kg\nSize 20 cm"},
	{"table in a cell", "<table><tr><th>A<th>B<tr><td>1<td><table><tr><td>x<td>y<tr><td>z<td>w</table></table>", "| A | B |\n|---|---|\n| 1 | x \\| y<br>z \\| w |", "A B\n1\nx y\nz w"},
	{"table for layout", "<table><tr><td>Menu<td><p>One.<p>Two.</table>", "Menu\n\nOne.\n\nTwo.", "Menu\nOne.\nTwo."},
	{"table for layout, declared", "<table role=presentation><tr><td>a<td>b<tr><td>c<td>d</table>", "a\n\nb\n\nc\n\nd", "a\nb\nc\nd"},
	{"row without text", "<table><tr><th>A<th>B<tr><td><td><tr><td>1<td>2</table>", "| A | B |\n|---|---|\n| 1 | 2 |", "A B\n1 2"},

	// Formulas and numbers.
	{"exponent", "<p>10<sup>6</sup>, 3·10<sup>-4</sup>, m<sup>2</sup>, 2<sup>n</sup>, 1<sup>st</sup>", "10<sup>6</sup>, 3·10<sup>-4</sup>, m<sup>2</sup>, 2<sup>n</sup>, 1<sup>st</sup>", "10^6, 3·10^-4, m^2, 2^n, 1st"},
	{"index", "<p>H<sub>2</sub>O, 10<sub>2</sub>", "H<sub>2</sub>O, 10<sub>2</sub>", "H2O, 10_2"},
	{"footnote", "<p>word<sup><a href=#f1>1</a></sup> next", "word\\[[1](https://town.example/a/b.html#f1)\\] next", "word[1] next"},
	{"ruby", "<p><ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢(kan)", "-"},
	{"quotes", "<p>He said <q>no <q>x</q></q>.", "He said “no “x””.", "-"},
	{"MathML with an annotation", "<p>So <math><semantics><mi>x</mi><annotation encoding=application/x-tex>x^2 &lt; y</annotation></semantics></math>.", "So $x^2 < y$.", "So x^2 < y."},
	{"MathML with alttext", "<p><math display=block alttext='{\\displaystyle E=mc^{2}}'><mi>E</mi></math>", "$$E=mc^{2}$$", "E=mc^{2}"},
	{"MathML alone", "<p><math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac><mo>=</mo><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><msqrt><mi>y</mi></msqrt></math>", "(a + b)/2 = x^2 + √(y)", "-"},
	{"KaTeX", "<p>So <span class=katex><span class=katex-mathml><math><semantics><mi>x</mi><annotation encoding=application/x-tex>x</annotation></semantics></math></span><span class=katex-html aria-hidden=true><span>x</span></span></span>.", "So $x$.", "So x."},
	{"MathJax", "<p>So <span class=MathJax_Preview>x2</span><span class=MathJax>x2</span><script type='math/tex'>x^2</script>.", "So $x^2$.", "So x^2."},
	{"MathJax with MathML", "<p>So <mjx-container class=MathJax><mjx-math aria-hidden=true></mjx-math><mjx-assistive-mml><math><msup><mi>x</mi><mn>2</mn></msup></math></mjx-assistive-mml></mjx-container>.", "So x^2.", "-"},
	{"image of a formula", "<p>So <span style='display:none'><math alttext=x><mi>x</mi></math></span><img class=mwe-math-fallback-image-inline alt='{\\displaystyle x_1}' src=x.svg>.", "So $x_1$.", "So x_1."},

	// Code.
	{"language of code", "<pre><code class='language-python'>def f(x):\n    return x</code></pre>", "```python\ndef f(x):\n    return x\n```", "def f(x):\n    return x"},
	{"lines as spans", "<pre><code><span class=line>a {</span><span class=line></span><span class=line>  b</span></code></pre>", "```\na {\n\n  b\n```", "a {\n\n  b"},
	{"lines as spans with line breaks", "<pre><code><span class=line>a</span>\n<span class=line></span>\n<span class=line>b</span></code></pre>", "```\na\n\nb\n```", "a\n\nb"},
	{"lines as div", "<pre><code><div class=line>a</div>\n<div class=line>  b</div></code></pre>", "```\na\n  b\n```", "a\n  b"},
	{"lines with br", "<pre><code><span class=token-line>a<br></span><span class=token-line>  b<br></span></code></pre>", "```\na\n  b\n```", "a\n  b"},
	{"numbers of lines", "<pre class=chroma><code class=language-go><span class=line><span class=ln>1</span><span class=cl>a\n</span></span><span class=line><span class=ln>2</span><span class=cl>  b\n</span></span></code></pre>", "```go\na\n  b\n```", "a\n  b"},
	{"numbers of lines in a cell", "<table class=highlighttable><tr><td class=linenos><div class=linenodiv><pre>1\n2</pre></div></td><td class=code><div class='highlight language-c'><pre>a\n  b</pre></div></td></tr></table>", "```c\na\n  b\n```", "a\n  b"},
	{"code as a table", "<table class='highlight js-file-line-container'><tr><td class=blob-num data-line-number=1></td><td class=blob-code>a(</td></tr><tr><td class=blob-num></td><td class=blob-code>  b)</td></tr></table>", "```\na(\n  b)\n```", "a(\n  b)"},
	{"code of Doxygen", "<div class=fragment><div class=line><a name=l1></a><span class=lineno>    1</span>a {</div><div class=line><span class=lineno>    2</span>  b</div></div>", "```\na {\n  b\n```", "a {\n  b"},
	{"indent of the first line", "<pre>\n   <b>a</b>\n b\n</pre>", "```\n   a\n b\n```", "   a\n b"},
	{"terminal session", "<pre class=screen><code>$ <strong>ls</strong>\na</code></pre>", "```\n$ ls\na\n```", "$ ls\na"},
	{"fence in code", "<pre>```\na\n````</pre>", "`````\n```\na\n````\n`````", "```\na\n````"},
	{"backticks in code", "<p><code>a`b</code> <code>``</code>", "`` a`b `` ``` `` ```", "a`b ``"},
	{"two codes", "<p><code>a</code><code>b</code>", "`ab`", "ab"},

	// Characters.
	{"soft hyphens and zero width", "<p>har&shy;bour&#x200B;town&#x2060; &#xFEFF;x &#x202A;y&#x202C;", "harbourtown x y", "-"},
	{"joiners where they mean something", "<p>می\u200cخواهم 👩\u200d💻 a\u200cb", "می\u200cخواهم 👩\u200d💻 ab", "-"},
	{"no-break and control characters", "<p>a&nbsp;b\x01c\u2003d", "a b c d", "-"},
	{"line that shows nothing", "<p>a</p><p>&shy;&#x200B;</p><p>b", "a\n\nb", "a\nb"},

	// Links.
	{"links that lead nowhere", "<p><a href='javascript:x()'>a</a> <a href=' Java\nScript:x'>b</a> <a href='data:text/html,x'>c</a> <a href=VBSCRIPT:x>d</a> <a>e</a>", "a b c d e", "-"},
	{"parentheses and blanks in links", "<p><a href='x (1).html?a=b&amp;c'>x</a>", `[x](https://town.example/a/x%20\(1\).html?a=b&c)`, "x"},
	{"link around blocks", "<a href=x><h3>H</h3><p>text</p></a>", "### [H](https://town.example/a/x)\n\n[text](https://town.example/a/x)", "H\ntext"},
	{"not an image", "<p>wow!<a href=x>x</a>", `wow\![x](https://town.example/a/x)`, "wow!x"},

	// Lists.
	{"lists next to each other", "<ul><li>a</ul><ul><li>b</ul>", "- a\n\n* b", "a\nb"},
	{"list in a list without an item", "<ul><li>a</li><ul><li>b</li></ul><li>c</li></ul>", "- a\n  - b\n- c", "a\nb\nc"},
	{"numbers of two digits", "<ol start=9><li>a<li>b<p>c</ol>", "9. a\n10. b\n\n    c", "a\nb\nc"},
	{"list that starts late in an item", "<ul><li>a<ol start=3><li>b</ol></ul>", "- a\n\n  3. b", "a\nb"},

	// Marks of Markdown in a text.
	{"lines that look like blocks", "<p># a<br>1. b<br>- c<br>===<br>&gt; d<br>~~~<br>+ e<br>---", "\\# a  \n1\\. b  \n\\- c  \n\\===  \n\\> d  \n\\~\\~\\~  \n\\+ e  \n\\---", "# a\n1. b\n- c\n===\n> d\n~~~\n+ e\n---"},
	{"heading that ends with a mark", "<h2>C #</h2>", `## C \#`, "C #"},
	{"emphasis that a letter follows", "<p>a <b>(b)</b>c <b>d</b>e <i>f</i><b>g</b>", "a (b)c **d**e *f*g", "a (b)c de fg"},
	{"rule", "<p>a<hr><p>b", "a\n\n---\n\nb", "a\nb"},
}

func TestKinds(t *testing.T) {
	for _, c := range kinds {
		t.Run(c.name, func(t *testing.T) {
			w := page(c.html)
			if got := string(w.AppendMarkdown(nil)); got != c.markdown {
				t.Errorf("Markdown:\n%q, want\n%q", got, c.markdown)
			}
			want := c.text
			if want == "-" {
				want = c.markdown
			}
			if got := string(w.AppendText(nil, -1)); got != want {
				t.Errorf("text:\n%q, want\n%q", got, want)
			}
		})
	}
}

func TestHTML(t *testing.T) {
	for _, c := range []struct{ name, html, want string }{
		{"blocks", "<h1>A &amp; B</h1><p>a <em>b</em> <a href=x?a&b>c</a></p><ol start=3><li>x<ul><li>y</ul></ol><blockquote>q</blockquote>", "<h1>A &amp; B</h1>\n<p>a <em>b</em> <a href=\"https://town.example/a/x?a&amp;b\">c</a></p>\n" +
			"<ol start=\"3\">\n<li>x<ul>\n<li>y</li>\n</ul>\n</li>\n</ol>\n<blockquote>\n<p>q</p>\n</blockquote>\n"},
		{"code", "<pre class='brush: c'>a < b</pre>", "<pre><code class=\"language-c\">a &lt; b</code></pre>\n"},
		{"table", "<table><tr><th colspan=2>A<tr><td>1<td>2</table>", "<table>\n<tr><th colspan=\"2\">A</th></tr>\n<tr><td>1</td><td>2</td></tr>\n</table>\n"},
		{"images", "<p>a</p><img src=b.png alt='x\"y'><p>c <img src=d.png> e", "<p>a</p>\n<p><img src=\"https://town.example/a/b.png\" alt=\"x&quot;y\"></p>\n<p>c <img src=\"https://town.example/a/d.png\" alt=\"\"> e</p>\n"},
		{"script", "<p onclick=x()>a<script>x()</script> <a href='javascript:x()'>b</a> &lt;script>", "<p>a b &lt;script&gt;</p>\n"},
		{"formula", "<p><math alttext='a<b'></math>", "<p>\\(a&lt;b\\)</p>\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(page(c.html).AppendHTML(nil)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestLanguagesOfCode(t *testing.T) {
	for _, c := range []struct{ html, want string }{
		{"<pre class=language-go>x</pre>", "go"},
		{"<pre class='lang-sh prettyprint'>x</pre>", "sh"},
		{"<pre class='brush: java; gutter: false'>x</pre>", "java"},
		{"<pre class='sourceCode python'>x</pre>", "python"},
		{"<pre class='programlisting xml'>x</pre>", "xml"},
		{"<pre data-lang=rust>x</pre>", "rust"},
		{"<pre><code data-language=css>x</code></pre>", "css"},
		{"<pre><code class='hljs yaml'>x</code></pre>", "yaml"},
		{"<pre lang=ruby>x</pre>", "ruby"},
		{"<pre lang=en>x</pre>", ""},
		{"<div class='highlight-python3 notranslate'><div class=highlight><pre>x</pre></div></div>", "python"},
		{"<div class='highlight highlight-source-shell'><pre>x</pre></div>", "shell"},
		{"<div class='language-c++ highlighter-rouge'><div class=highlight><pre class=highlight><code>x</code></pre></div></div>", "c++"},
		{"<div class='highlight-default notranslate'><div class=highlight><pre>x</pre></div></div>", ""},
		{"<pre class='code literal-block'>x</pre>", ""},
		{"<pre class='language-a`b'>x</pre>", ""},
	} {
		if got, want := string(page(c.html).AppendMarkdown(nil)), "```"+c.want+"\nx\n```"; got != want {
			t.Errorf("%s: %q, want %q", c.html, got, want)
		}
	}
}

func TestComments(t *testing.T) {
	w := page("<article><p>The mill is sold.</p></article><div class=comments><h3>2 comments</h3><div class=comment><b>Anna</b><p>I do not see what is new about it.</p><a href=#>Reply</a></div>" +
		"<form><p>Write what you think about it here.</p></form></div>")
	for i := range w.chosen {
		w.chosen[i] = i == 0
	}
	if got, want := string(w.AppendComments(nil)), "I do not see what is new about it."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Nothing grows faster than its page.
func TestSizes(t *testing.T) {
	many := strings.Repeat
	for _, c := range []struct {
		name, before, unit, after string
		most                      int // bytes of output for each of the unit
	}{
		{"quotes", "", "<blockquote>x", "", 4},
		{"lists", "", "<ul><li>x", "", 5},
		{"lists of numbers", "", "<ol start=99999999><li>x", "", 12},
		{"tables in tables", "", "<table><tr><th>x<td>", "", 4},
		{"data in data", "", "<table><tr><th>x<th>y<tr><td>z<td>", "", 4},
		{"cells that cover", "<table>", "<tr><td colspan=60 rowspan=60>x<td>y", "", 4},
		{"wide and narrow rows", "<table><tr>" + many("<td>x", 4000), "<tr><td>x", "", 4},
		{"code in code", "<p>", "<code>`x<br>", "", 6},
		{"lines in listings", "<pre>", "<span class=line><div>x", "", 8},
		{"gutters", "<pre>", "<span class=ln>1", "x", 8},
		{"gutters with text", "<pre>", "<span class=ln>", "x", 8},
		{"emphasis that ends nothing", "<p>", "<b>(x)</b>y", "", 4},
		{"formulas in formulas", "<p>", "<math><mfrac><mi>x</mi>", "", 4},
		{"formulas", "<p>", "<math><mi>x</mi></math>", "", 4},
		{"hidden panels", "", "<p hidden id=x aria-controls=x>x</p>", "", 4},
		{"links around all", "", "<a href=x><div>x", "", 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			const units = 4000
			text := c.before + many(c.unit, units) + c.after
			w := page(text)
			if got := len(w.AppendMarkdown(nil)); got > c.most*len(text)+1000 {
				t.Errorf("%d bytes of page, %d of Markdown", len(text), got)
			}
			if got := len(w.AppendHTML(nil)); got > 2*c.most*len(text)+1000 {
				t.Errorf("%d bytes of page, %d of HTML", len(text), got)
			}
			if got := len(w.AppendText(nil, -1)); got > 2*len(text)+1000 {
				t.Errorf("%d bytes of page, %d of text", len(text), got)
			}
		})
	}
}

package office

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hce/dc/internal/process/document/documenttest"
	"hce/dc/internal/process/markup"
)

// bodyOf returns the body of the page of a document.
func bodyOf(t *testing.T, file []byte) string {
	t.Helper()
	page, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(page.HTML()), "<body>\n")
	body, _, _ = strings.Cut(body, "</body>")
	return strings.ReplaceAll(strings.TrimSpace(body), "\n", "")
}

func run(text string) string { return `<w:r><w:t xml:space="preserve">` + text + `</w:t></w:r>` }

func par(properties, text string) string {
	return "<w:p><w:pPr>" + properties + "</w:pPr>" + run(text) + "</w:p>"
}

func item(list, level int, text string) string {
	return par(fmt.Sprintf(`<w:numPr><w:ilvl w:val="%d"/><w:numId w:val="%d"/></w:numPr>`, level, list), text)
}

var parts = map[string]string{
	"word/styles.xml": `<w:styles><w:style w:styleId="H2"><w:name w:val="heading 2"/></w:style><w:style w:styleId="T"><w:name w:val="Title"/></w:style>
<w:style w:styleId="Mine"><w:name w:val="Mine"/><w:basedOn w:val="H2"/></w:style><w:style w:styleId="Loop"><w:basedOn w:val="Loop"/></w:style>
<w:style w:styleId="Sup"><w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:style><w:style w:styleId="Code"><w:name w:val="Source Code"/></w:style><w:style w:styleId="Outline"><w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style><w:style w:styleId="Bullets"><w:pPr><w:numPr><w:numId w:val="2"/></w:numPr></w:pPr></w:style></w:styles>`,
	"word/numbering.xml": `<w:numbering><w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num></w:numbering>`,
	"word/footnotes.xml": `<w:footnotes><w:footnote w:type="separator"><w:p>` + run("no") + `</w:p></w:footnote><w:footnote w:id="2"><w:p>` + run("A note.") + `</w:p></w:footnote></w:footnotes>`,
}

func TestDOCX(t *testing.T) {
	const note = "<p>A note.</p>"
	tests := []struct{ name, body, want string }{
		{"paragraphs", par("", "One") + par("", "Two"), "<p>One</p><p>Two</p>"},
		{"headings", par(`<w:pStyle w:val="T"/>`, "A") + par(`<w:pStyle w:val="H2"/>`, "B") + par(`<w:pStyle w:val="Mine"/>`, "C") + par(`<w:pStyle w:val="Outline"/>`, "D") +
			par(`<w:outlineLvl w:val="0"/>`, "E") + par(`<w:pStyle w:val="Loop"/>`, "F"), "<h1>A</h1><h2>B</h2><h2>C</h2><h3>D</h3><h1>E</h1><p>F</p>"},
		{"lists", item(1, 0, "a") + item(1, 1, "b") + item(1, 0, "c") + item(2, 0, "d") + item(0, 0, "e"),
			"<ol><li>a<ul><li>b</li></ul></li><li>c</li></ol><ul><li>d</li></ul><p>e</p>"},
		{"list of a style", par(`<w:pStyle w:val="Bullets"/>`, "a"), "<ul><li>a</li></ul>"},
		{"list that begins deep", item(1, 2, "a"), "<ul><li><ul><li><ul><li>a</li></ul></li></ul></li></ul>"},
		{"table", "<w:tbl><w:tr><w:tc>" + par("", "A") + par("", "B") + "</w:tc><w:tc/></w:tr><w:tr><w:tc>" + par("", "C") + "</w:tc></w:tr></w:tbl>",
			"<table><tr><th>A<br>B</th><th></th></tr><tr><td>C</td></tr></table>"},
		{"table in a table", "<w:tbl><w:tr><w:tc><w:tbl><w:tr><w:tc>" + par("", "A") + "</w:tc></w:tr></w:tbl>" + par("", "B") + "</w:tc></w:tr></w:tbl>",
			"<table><tr><th>A<br>B</th></tr></table>"},
		{"link", `<w:p>` + run("See ") + `<w:hyperlink r:id="rL">` + run("the ") + run("tables") + `</w:hyperlink>` + run(".") + `</w:p>`,
			`<p>See <a href="http://tables.example/t?a=1&amp;b=2">the tables</a>.</p>`},
		{"link without a target", `<w:p><w:hyperlink w:anchor="x">` + run("here") + `</w:hyperlink></w:p>`, "<p>here</p>"},
		{"breaks and tabs", `<w:p><w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t></w:r></w:p>`, "<p>a b<br>c-d</p>"},
		{"changes", `<w:p><w:del><w:r><w:delText>no</w:delText></w:r></w:del><w:ins>` + run("yes") + `</w:ins><w:moveFrom>` + run("no") + `</w:moveFrom></w:p>`, "<p>yes</p>"},
		{"hidden text", `<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>no</w:t></w:r><w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>yes</w:t></w:r></w:p>`, "<p>yes</p>"},
		{"text box", `<w:p>` + run("a") + `<w:r><mc:AlternateContent><mc:Choice><w:txbxContent>` + par("", "box") + `</w:txbxContent></mc:Choice><mc:Fallback>` + par("", "box") + `</mc:Fallback></mc:AlternateContent></w:r>` + run("b") + `</w:p>`,
			"<p>ab</p><p>box</p>"},
		{"field", `<w:p><w:r><w:instrText>PAGE</w:instrText></w:r>` + run("7") + `</w:p>`, "<p>7</p>"},
		{"exponent", `<w:p>` + run("10") + `<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>-</w:t></w:r><w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>3</w:t></w:r>` + run(" boats") + `</w:p>`,
			"<p>10<sup>-3</sup> boats</p>"},
		{"index", `<w:p>` + run("H") + `<w:r><w:rPr><w:vertAlign w:val="subscript"/></w:rPr><w:t>2</w:t></w:r>` + run("O") + `</w:p>`, "<p>H<sub>2</sub>O</p>"},
		{"exponent of a style", `<w:p>` + run("10") + `<w:r><w:rPr><w:rStyle w:val="Sup"/></w:rPr><w:t>6</w:t></w:r></w:p>`, "<p>10<sup>6</sup></p>"},
		{"base line", `<w:p><w:r><w:rPr><w:vertAlign w:val="baseline"/></w:rPr><w:t>6</w:t></w:r></w:p>`, "<p>6</p>"},
		{"lists, breaks and headings in cells", "<w:tbl><w:tr><w:tc>" + item(1, 0, "a") + item(1, 0, "b") + par(`<w:pStyle w:val="H2"/>`, "C") + "<w:p><w:r><w:t>d</w:t><w:br/><w:t>e</w:t></w:r></w:p></w:tc></w:tr></w:tbl>",
			"<table><tr><th>a<br>b<br>C<br>d<br>e</th></tr></table>"},
		{"wide cell", `<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr>` + par("", "A") + "</w:tc></w:tr><w:tr><w:tc>" + par("", "B") + "</w:tc><w:tc>" + par("", "C") + "</w:tc></w:tr></w:tbl>",
			`<table><tr><th colspan="2">A</th></tr><tr><td>B</td><td>C</td></tr></table>`},
		{"high cell", `<w:tbl><w:tr><w:tc><w:tcPr><w:vMerge w:val="restart"/></w:tcPr>` + par("", "A") + "</w:tc><w:tc>" + par("", "B") + "</w:tc></w:tr><w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p/></w:tc><w:tc>" + par("", "C") + "</w:tc></w:tr></w:tbl>",
			`<table><tr><th>A</th><th>B</th></tr><tr><td></td><td>C</td></tr></table>`},
		{"code", par(`<w:pStyle w:val="Code"/>`, "if x") + par(`<w:pStyle w:val="Code"/>`, "  y") + par("", "One"), "<pre>if x  y</pre><p>One</p>"},
		{"letters of a symbol font", `<w:p><w:r><w:t>a </w:t><w:sym w:font="Symbol" w:char="F0A3"/><w:t> b</w:t><w:sym w:font="Wingdings" w:char="F0FC"/><w:sym w:font="Wingdings" w:char="F041"/><w:sym w:font="Arial" w:char="00B5"/><w:sym w:font="x" w:char="no"/></w:r></w:p>`, "<p>a ≤ b✓µ</p>"},
		{"soft hyphen", `<w:p><w:r><w:t>har</w:t><w:softHyphen/><w:t>bour &#xAD;x</w:t></w:r></w:p>`, "<p>harbour x</p>"},
		{"breaks around a text", `<w:p><w:r><w:br/><w:t>a</w:t><w:br/></w:r></w:p>`, "<p>a</p>"},
		{"mark-up", par("", "&lt;b&gt; &amp;amp; &#x1;"), "<p>&lt;b&gt; &amp;amp;</p>"},
		{"declared entity", `<!DOCTYPE x [<!ENTITY a "boom">]>` + par("", "&a;"), "<p>&amp;a;</p>"},
		{"cut", par("", "One") + "<w:p><w:r><w:t>Two", "<p>One</p><p>Two</p>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := bodyOf(t, documenttest.OOXML(tt.body, parts))
			if got = strings.TrimSuffix(got, note); got != tt.want {
				t.Errorf(" got %s\nwant %s", got, tt.want)
			}
		})
	}
	if got := bodyOf(t, documenttest.OOXML(par("", "One"), parts)); got != "<p>One</p>"+note {
		t.Errorf("with a note: %s", got)
	}
}

func TestODF(t *testing.T) {
	content := func(body string) []byte {
		return documenttest.ZIP(map[string]string{
			"mimetype": "application/vnd.oasis.opendocument.text",
			"meta.xml": `<office:document-meta><office:meta><meta:initial-creator>Ann Bell</meta:initial-creator><dc:creator>Carl Dorn</dc:creator><dc:title>Tides</dc:title>
<meta:keyword>sea</meta:keyword><meta:keyword>moon</meta:keyword><meta:creation-date>2024-05-17T10:11:12.123456789</meta:creation-date><dc:date>2024-06-01T08:00:00+02:00</dc:date></office:meta></office:document-meta>`,
			"styles.xml": `<office:document-styles><style:style style:name="Preformatted_20_Text"/><style:style style:name="Up"><style:text-properties style:text-position="33% 58%"/></style:style>
<text:list-style style:name="L2"><text:list-level-style-number text:level="1" style:num-format="a"/></text:list-style></office:document-styles>`,
			"Object 1/content.xml": `<math><semantics><mrow><mi>E</mi><mo>=</mo><msup><mi>c</mi><mn>2</mn></msup></mrow><annotation encoding="StarMath 5.0">E = c^2</annotation></semantics></math>`,
			"Object 2/content.xml": `<office:document-content><text:p>no</text:p></office:document-content>`,
			"content.xml": `<office:document-content><office:automatic-styles><style:style style:name="T1"><style:text-properties style:text-position="sub 58%"/></style:style>
<style:style style:name="T2" style:parent-style-name="Up"/><style:style style:name="P1" style:parent-style-name="Preformatted_20_Text"/><style:style style:name="T3"><style:text-properties text:display="none"/></style:style><text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1"/>
<text:list-level-style-bullet text:level="2"/></text:list-style></office:automatic-styles><office:body><office:text>` + body + `</office:text></office:body></office:document-content>`,
		})
	}
	tests := []struct{ name, body, want string }{
		{"headings", `<text:h text:outline-level="2">A</text:h><text:h>B</text:h><text:p text:style-name="Title">C</text:p>`, "<h2>A</h2><h1>B</h1><h1>C</h1>"},
		{"ruby", `<text:p><text:ruby><text:ruby-base>漢</text:ruby-base><text:ruby-text>kan</text:ruby-text></text:ruby>字</text:p>`, "<p>漢(kan)字</p>"},
		{"spaces", `<text:p>a<text:s text:c="1000000000"/>b<text:tab/>c<text:line-break/>d</text:p>`, "<p>a b c<br>d</p>"},
		{"lists", `<text:list text:style-name="L1"><text:list-item><text:p>a</text:p><text:list><text:list-item><text:p>b</text:p></text:list-item></text:list></text:list-item></text:list>`,
			"<ol><li>a<ul><li>b</li></ul></li></ol>"},
		{"table", `<table:table><table:table-row><table:table-cell table:number-columns-repeated="1000000000"><text:p>a</text:p></table:table-cell></table:table-row></table:table>`,
			"<table><tr><th>a</th></tr></table>"},
		{"link", `<text:p><text:a xlink:href="https://a.example/">a</text:a> <text:a xlink:href="../b">b</text:a></text:p>`, `<p><a href="https://a.example/">a</a> b</p>`},
		{"note", `<text:p>a<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>note</text:p></text:note-body></text:note>b</text:p>`, "<p>ab</p><p>note</p>"},
		{"exponent and index", `<text:p>10<text:span text:style-name="T2">6</text:span>, H<text:span text:style-name="T1">2</text:span>O</text:p>`, "<p>10<sup>6</sup>, H<sub>2</sub>O</p>"},
		{"formula", `<text:p>so <draw:frame><draw:object xlink:href="./Object 1"/><svg:desc>formula</svg:desc></draw:frame>.</text:p>`, "<p>so E=c^2.</p>"},
		{"other and missing objects", `<text:p>a<draw:frame><draw:object xlink:href="./Object 2"/></draw:frame><draw:object xlink:href="../../x"/>b</text:p>`, "<p>ab</p>"},
		{"code", `<text:p text:style-name="P1">if x</text:p><text:p text:style-name="P1"><text:s text:c="2"/>y</text:p><text:p>One</text:p>`, "<pre>if x  y</pre><p>One</p>"},
		{"hidden text", `<text:p>a<text:span text:style-name="T3">no <text:span>no</text:span></text:span>b</text:p>`, "<p>ab</p>"},
		{"list style of the document", `<text:list text:style-name="L2"><text:list-item><text:p>a</text:p></text:list-item></text:list>`, "<ol><li>a</li></ol>"},
		{"spans of cells", `<table:table><table:table-row><table:table-cell table:number-columns-spanned="2" table:number-rows-spanned="2"><text:p>a</text:p></table:table-cell><table:covered-table-cell/><table:table-cell><text:p>b</text:p><text:p>c</text:p></table:table-cell></table:table-row></table:table>`,
			`<table><tr><th colspan="2" rowspan="2">a</th><th>b<br>c</th></tr></table>`},
		{"list in a cell", `<table:table><table:table-row><table:table-cell><text:list><text:list-item><text:p>a</text:p></text:list-item><text:list-item><text:p>b</text:p></text:list-item></text:list></table:table-cell><table:table-cell/></table:table-row></table:table>`,
			"<table><tr><th>a<br>b</th><th></th></tr></table>"},
		{"sheet", `<office:spreadsheet><table:table table:name="Tides"><table:table-row><table:table-cell table:number-columns-repeated="3"/><table:table-cell table:number-columns-repeated="2"><text:p>x</text:p></table:table-cell><table:table-cell table:number-columns-repeated="16000"/></table:table-row>
<table:table-row table:number-rows-repeated="2"><table:table-cell><text:p>y</text:p></table:table-cell></table:table-row><table:table-row table:number-rows-repeated="1000000"><table:table-cell table:number-columns-repeated="16000"/></table:table-row></table:table></office:spreadsheet>`,
			"<h2>Tides</h2><table><tr><th></th><th></th><th></th><th>x</th><th>x</th></tr><tr><td>y</td></tr><tr><td>y</td></tr></table>"},
		{"comment", `<text:p>a<office:annotation><dc:creator>x</dc:creator><text:p>no</text:p></office:annotation></text:p>`, "<p>a</p>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := bodyOf(t, content(tt.body)); got != tt.want {
				t.Errorf(" got %s\nwant %s", got, tt.want)
			}
		})
	}
	page, err := Read(content(""))
	if err != nil || page.Title != "Tides" || page.Author != "Carl Dorn" || page.Keywords != "sea;moon" || page.Created.String() != "2024-05-17T10:11:12" || page.Modified.String() != "2024-06-01T08:00:00+02:00" {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestPPTX(t *testing.T) {
	slide := func(title, text string) string {
		return `<p:sld><p:sp><p:nvSpPr><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>` + title + `</a:t></a:r></a:p></p:txBody></p:sp><p:sp><p:txBody>` + text + `</p:txBody></p:sp></p:sld>`
	}
	relation := func(id, kind, target string) string {
		return `<Relationship Id="` + id + `" Type="http://x/relationships/` + kind + `" Target="` + target + `"/>`
	}
	file := documenttest.ZIP(map[string]string{
		"[Content_Types].xml":              "<Types/>",
		"_rels/.rels":                      "<Relationships>" + relation("a", "officeDocument", "/ppt/presentation.xml") + "</Relationships>",
		"ppt/presentation.xml":             `<p:presentation><p:sldIdLst><p:sldId id="1" r:id="r2"/><p:sldId id="2" r:id="r1"/><p:sldId id="2" r:id="r1"/></p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels":  "<Relationships>" + relation("r1", "slide", "slides/slide1.xml") + relation("r2", "slide", "slides/slide2.xml") + "</Relationships>",
		"ppt/slides/slide1.xml":            slide("Last", `<a:p><a:pPr lvl="0"><a:buChar char="-"/></a:pPr><a:r><a:t>x</a:t></a:r></a:p><a:p><a:fld><a:t>9</a:t></a:fld></a:p><a:p><a:r><a:t>10</a:t></a:r><a:r><a:rPr baseline="30000"/><a:t>6</a:t></a:r></a:p>`),
		"ppt/slides/slide2.xml":            slide("First", `<a:p><a:r><a:rPr><a:hlinkClick r:id="h"/></a:rPr><a:t>link</a:t></a:r><a:r><a:t> text</a:t></a:r></a:p>`),
		"ppt/slides/_rels/slide2.xml.rels": `<Relationships><Relationship Id="h" Type="http://x/relationships/hyperlink" Target="http://a.example/" TargetMode="External"/></Relationships>`,
	})
	want := `<h2>First</h2><p><a href="http://a.example/">link</a> text</p><h2>Last</h2><ul><li>x</li></ul><p>10<sup>6</sup></p>`
	if got := bodyOf(t, file); got != want {
		t.Errorf(" got %s\nwant %s", got, want)
	}
}

// Formulas become text.
func TestFormulas(t *testing.T) {
	r := func(text string) string { return "<m:r><m:rPr><m:sty m:val='p'/></m:rPr><m:t>" + text + "</m:t></m:r>" }
	e := func(name, inner string) string { return "<m:" + name + ">" + inner + "</m:" + name + ">" }
	tests := []struct{ name, formula, want string }{
		{"exponent", r("E=m") + e("sSup", e("e", r("c"))+e("sup", r("2"))), "E=mc^2"},
		{"fraction", e("f", e("num", r("a+b"))+e("den", r("2"))), "(a+b)/2"},
		{"root", e("rad", e("deg", r("3"))+e("e", r("x"))), "√[3]x"},
		{"sum", e("nary", `<m:naryPr><m:chr m:val="∑"/></m:naryPr>`+e("sub", r("i=1"))+e("sup", r("n"))+e("e", r("i"))), "∑_(i=1)^n i"},
		{"brackets", e("d", `<m:dPr><m:begChr m:val="["/><m:endChr m:val="&lt;"/></m:dPr>`+e("e", r("a"))+e("e", r("b"))), "[a|b&lt;"},
		{"matrix", e("m", e("mr", e("e", r("1"))+e("e", r("2")))+e("mr", e("e", r("3"))+e("e", r("4")))), "[1, 2; 3, 4]"},
		{"function", e("func", e("fName", r("sin"))+e("e", r("x"))), "sin x"},
		{"deep", strings.Repeat("<m:f><m:num>", 40) + r("x"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := bodyOf(t, documenttest.OOXML("<w:p><m:oMath>"+tt.formula+"</m:oMath></w:p>", nil))
			if tt.name == "deep" {
				if !strings.Contains(got, "x") {
					t.Errorf("got %s", got)
				}
			} else if got != "<p>"+tt.want+"</p>" {
				t.Errorf(" got %s\nwant %s", got, tt.want)
			}
		})
	}
	for formula, want := range map[string]string{
		"<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac>":                                   "(a+b)/2",
		"<munderover><mo>∑</mo><mn>1</mn><mi>n</mi></munderover><mi>i</mi>":                                      "∑_1^ni",
		"<msqrt><mi>x</mi><mn>1</mn></msqrt>":                                                                    "√(x1)",
		"<mi>sin</mi><mi>x</mi><mtext> if </mtext><mfenced open='['><mi>a</mi><mi>b</mi></mfenced>":              "sin x if [a, b)",
		"<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn></mtd></mtr></mtable>": "[1, 2; 3]",
	} {
		file := documenttest.ZIP(map[string]string{
			"content.xml":   `<office:document-content><text:p><draw:object xlink:href="F"/></text:p></office:document-content>`,
			"F/content.xml": "<math>" + formula + "</math>",
		})
		if got := bodyOf(t, file); got != "<p>"+want+"</p>" {
			t.Errorf("%s: %s, want %s", formula, got, want)
		}
	}
}

// The metadata of the template of a library are not those of the document.
func TestTemplateMetadata(t *testing.T) {
	page, err := Read(documenttest.OOXML(par("", "One"), map[string]string{"docProps/core.xml": `<cp:coreProperties><dc:title>Word Document</dc:title><dc:creator>python-docx</dc:creator>
<dc:description>generated by python-docx</dc:description><dcterms:created>2013-12-23T23:15:00Z</dcterms:created></cp:coreProperties>`}))
	if err != nil || page.Title != "" || page.Author != "" || page.Description != "" || !page.Created.IsZero() {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestOtherArchives(t *testing.T) {
	tests := []struct {
		name string
		file []byte
		want error
	}{
		{"no archive", []byte("PK\x03\x04"), ErrDamaged},
		{"other files", documenttest.ZIP(map[string]string{"a": "b"}), ErrOther},
		{"workbook", documenttest.OOXML("", map[string]string{"word/document.xml": "<workbook/>"}), ErrOther},
		{"encrypted", func() []byte {
			file := documenttest.DOCX("a")
			at := strings.Index(string(file), "PK\x01\x02")
			file[at+8] |= 1
			return file
		}(), ErrDamaged},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if page, err := Read(tt.file); !errors.Is(err, tt.want) || page != nil {
				t.Errorf("%v, error %v", page, err)
			}
		})
	}
}

// A damaged part leaves the text of the others, with an error that names it.
func TestDamagedPart(t *testing.T) {
	file := documenttest.OOXML(par("", "One"), map[string]string{"docProps/core.xml": strings.Repeat("<dc:title>Tides</dc:title>", 50)})
	at := strings.Index(string(file), "docProps/core.xml") + len("docProps/core.xml")
	for i := range 12 {
		file[at+i] ^= 0xff
	}
	page, err := Read(file)
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "core.xml") || page == nil || !strings.Contains(string(page.HTML()), "<p>One</p>") {
		t.Errorf("%v, error %v", page, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(documenttest.DOCX("Tides", "The moon"))
	f.Add(documenttest.OOXML(item(1, 8, "a")+"<w:tbl><w:tr><w:tc>", parts))
	f.Add(documenttest.ZIP(map[string]string{"content.xml": "<office:document-content><text:p><text:p><table:table><text:list>"}))
	f.Add([]byte("PK\x03\x04PK\x05\x06"))
	f.Add(documenttest.OOXML("</w:p></w:tbl><w:hyperlink r:id='rL'><w:p><w:hyperlink r:id='rL'><w:p>", map[string]string{"word/_rels/document.xml.rels": "<Relationship Target='../../../x'/>"}))
	f.Fuzz(func(t *testing.T, file []byte) {
		page, err := Read(file)
		if page == nil && err == nil || err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrOther) {
			t.Errorf("%v, error %v", page, err)
		}
	})
}

// FuzzParts reads parts without an archive around them.
func FuzzParts(f *testing.F) {
	for _, seed := range []string{item(1, 3, "a"), "<w:p><w:p></w:p></w:tc>", "<text:list><text:h outline-level='99999999999'>", "<a:p><a:pPr lvl='-1'><a:buChar/>", "<w:tbl><w:tbl></w:tbl><w:p>"} {
		f.Add(seed, parts["word/styles.xml"])
	}
	f.Fuzz(func(t *testing.T, body, styles string) {
		a, err := openArchive(documenttest.OOXML(body, map[string]string{"word/styles.xml": styles, "word/numbering.xml": styles, "content.xml": body}))
		if err != nil {
			t.Fatal(err)
		}
		a.writeDocument(&markup.Page{})
		delete(a.files, "content.xml")
		a.writeDocument(&markup.Page{})
	})
}

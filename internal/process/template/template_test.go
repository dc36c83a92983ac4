package template

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/web/xpath"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/result"
)

const page = `<!DOCTYPE html><html><head><meta property="og:title" content="Meta title"><meta name="date" content="2026-03-05T18:07:00+09:00">
<meta name="author" content="Ann"></head><body>
<h1 class="head" title="T1">Rain in <b class=x>spring</b></h1><h2 id=sub>Second &amp; last</h2>
<div id="story"><p>One<br>line</p><p class="promo big">Buy</p><p>Two <a href="/x" class=ad>ad</a>words</p><!-- note --><script>var a = 1;</script></div>
<time datetime="2026-03-06 10:00">yesterday</time><span class=when>no date</span><span class=when>5 March 2026</span>
<figure><img src="/a.png" alt="A" title="TA"><img srcset="b.png 1x, c.png 2x" alt="B"><img image-src="d.png"><img alt="none"></figure>
<p id=mails><a href="mailto:ann@site.example?subject=x">Ann</a> <a href="MAILTO:bob%40site.example,eve@site.example">Bob and Eve</a> <a href="/plain">no mail</a></p>
<a class=l href="../one?b=2#f">1</a><a class=l href="https://other.example/two">2</a><a class=l>3</a>
<article data-id="story-4711-abcdefghijkl" data-x="q">A</article>
<table><tr><td>c1</td><td>c2</td></tr></table><noscript><img class=lazy src=lazy.png></noscript>
</body></html>`

func parsed(t testing.TB, text string) *xpath.Document {
	t.Helper()
	doc, err := xpath.HTML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func set(t testing.TB, text string) *Set {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// now is the clock of the tests.
var now = time.Date(2026, 11, 23, 5, 30, 0, 0, time.UTC)

func options() Options {
	return Options{URL: "http://site.example/a/b.html", Now: now}
}

// apply applies rules of the tag x.
func apply(t testing.TB, rules, page string, o Options) (result.Result, []Problem) {
	t.Helper()
	s := set(t, `{"templates":[{"tags":{"x":`+rules+`}}]}`)
	return s.Templates[0].Apply(context.Background(), parsed(t, page), o)
}

// messages are the texts of problems.
func messages(problems []Problem) string {
	var list []string
	for _, p := range problems {
		list = append(list, p.String())
	}
	return strings.Join(list, "; ")
}

// Each case names its row of docs/spec/processing.md 3. Those of 3.4 show the keys join and mandatory.
// Source: docs/spec/processing.md 3.2 join, mandatory, format.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		name, rules string
		properties  string // PROCESSOR_PROPERTIES
		want        string // value; "": the tag is absent
	}{
		{"3.2 target XPath", `[{"target":"//h2"}]`, "", "Second & last"},
		{"3.2 target CSS class", `[{"target":".head"}]`, `{"SCRAPER_TEXT_MARKUP":{}}`, "Rain in spring"},
		{"3.2 target CSS id", `[{"target":"#sub"}]`, "", "Second & last"},
		{"3.2 target relative XPath is no CSS", `[{"target":".//h2"}]`, "", "Second & last"},
		{"3.2 target attribute", `[{"target":"//h1/@title"}]`, "", "T1"},
		{"3.2 target string", `[{"target":"substring-before(//h2,' &')"}]`, "", "Second"},
		{"3.2 target number", `[{"target":"count(//td)"}]`, "", "2"},
		{"3.2 target text node", `[{"target":"//h1/text()"}]`, "", "Rain in"},
		{"3.2 target rows without tbody", `[{"target":"//table/tr/td[2]"}]`, "", "c2"},
		{"3.2 target rows with tbody", `[{"target":"//table/tbody/tr/td[2]"}]`, "", "c2"},
		{"3.2 target CSS rows without tbody", `[{"target":"#none, table > tr > td:first-child"}]`, "", "c1"},
		{"3.2 target noscript", `[{"target":"//img[@class='lazy']","type":"image"}]`, "", "lazy.png"},
		{"3.2 target CSS pseudo-elements", `[{"target":".head::attr(title)"},{"target":"#sub::text","join":"concat"}]`, "", "T1 Second & last"},
		{"3.2 target CSS element", `[{"target":"h1"}]`, "", "Rain in spring"},
		{"3.2 target CSS child", `[{"target":"figure > img","type":"image"}]`, "", "/a.png,b.png,d.png"},
		{"3.2 target CSS list", `["h2, td"]`, "", "Second & last c1 c2"},
		{"3.2 target CSS attribute", `[{"target":"article[data-id]","type":"attribute","format":"data-x"}]`, "", "q"},
		{"3.2 target CSS pseudo-class", `["td:first-child"]`, "", "c1"},
		{"3.2 target CSS rows of an element", `["table > tr > td"]`, "", "c1 c2"},
		{"3.2 target relative path", `["html/body/h2"]`, "", "Second & last"},
		{"3.2 target literal", `["'fixed text'"]`, "", "fixed text"},
		{"3.2 target as text", `["//h2"]`, "", "Second & last"},
		{"3.2 one rule without a list", `{"target":"//h2"}`, "", "Second & last"},
		{"3.2 type old form", `[{"target":"//h1","type":{"name":"attribute","format":"title"}}]`, "", "T1"},
		{"3.2 type in capitals", `[{"target":"//h1","type":"Attribute","format":"class"}]`, "", "head"},
		{"3.2 default", `[{"target":"//h6","default":"none"}]`, "", "none"},
		{"3.2 default number", `[{"target":"//h6","default":0}]`, "", "0"},
		{"3.2 default datetime", `[{"target":"//h6","type":"datetime","default":"@%d.%m.%Y"}]`, "", "23.11.2026"},
		{"3.2 default datetime without a format", `[{"target":"//h6","type":"datetime","default":"@"}]`, "", "2026-11-23 05:30:00"},
		{"3.2 delimiter", `[{"target":"//td","delimiter":" / "}]`, "", "c1 / c2"},
		{"3.2 delimiter empty", `[{"target":"//td","delimiter":""}]`, "", "c1 c2"},
		{"3.2 delimiter empty of others", `[{"target":"//meta","type":"attribute","format":"name","delimiter":""}]`, "", "date,author"},
		{"3.2 delimiter empty between rules", `[{"target":"//td[1]"},{"target":"//h2","join":"concat","delimiter":""}]`, "", "c1 Second & last"},
		{"3.2 delimiter empty, with that of the site", `[{"target":"//td","delimiter":""}]`, `{"SCRAPER_TAG_ITEMS_DELIMITER":"+"}`, "c1+c2"},
		{"3.2 delimiter empty of postProcessing", `[{"target":"//h2","postProcessing":"(S)(e)","delimiter":""}]`, "", "S e"},
		{"1.5 SCRAPER_TAG_ITEMS_DELIMITER empty", `[{"target":"//td"}]`, `{"SCRAPER_TAG_ITEMS_DELIMITER":""}`, "c1 c2"},
		{"1.5 SCRAPER_TAG_ITEMS_INNER_DELIMITER empty", `[{"target":"//div[@id='story']"}]`, `{"SCRAPER_TAG_ITEMS_INNER_DELIMITER":""}`, "One line Buy Two adwords"},
		{"3.2 delimiter_sub_items empty", `[{"target":"//h1","delimiter_sub_items":""}]`, "", "Rain in spring"},
		{"1.5 SCRAPER_TEXT_MARKUP without a text for lines and blocks", `[{"target":"//div[@id='story']"}]`, `{"SCRAPER_TEXT_MARKUP":{"br":"","p":"","/p":"","a":"","/a":""}}`, "One line Buy Two adwords"},
		{"3.2 delimiter default of text", `[{"target":"//td"}]`, "", "c1 c2"},
		{"3.2 delimiter default of others", `[{"target":"//td/..","type":"attribute","format":"x"},{"target":"//meta","type":"attribute","format":"name"}]`, "", "date,author"},
		{"1.5 SCRAPER_TAG_ITEMS_DELIMITER", `[{"target":"//td"}]`, `{"SCRAPER_TAG_ITEMS_DELIMITER":"+"}`, "c1+c2"},
		{"3.2 delimiter_sub_items", `[{"target":"//h1","delimiter_sub_items":"|"}]`, `{"SCRAPER_TEXT_MARKUP":{}}`, "Rain in|spring"},
		{"1.5 SCRAPER_TAG_ITEMS_INNER_DELIMITER", `[{"target":"//h1"}]`, `{"SCRAPER_TEXT_MARKUP":"{}","SCRAPER_TAG_ITEMS_INNER_DELIMITER":"|"}`, "Rain in|spring"},
		{"3.2 delimiter_sub_items default", `[{"target":"//div[@id='story']"}]`, `{"SCRAPER_TEXT_MARKUP":{}}`, "One line Buy Two adwords"},
		{"3.2 begin and end are unused", `[{"target":"//h2","begin":"a","end":"b"}]`, "", "Second & last"},
		{"3.2 attributesExclude exclude", `[{"target":"//div[@id='story']/p","attributesExclude":"{\"TYPE\":\"exclude\",\"class\":\"promo\"}"}]`, `{"SCRAPER_TEXT_MARKUP":{}}`, "One line Two adwords"},
		{"3.2 attributesExclude inside of a match", `[{"target":"//div[@id='story']","attributesExclude":{"TYPE":"exclude","*":"^ad$|promo"}}]`, `{"SCRAPER_TEXT_MARKUP":{}}`, "One line Two words"},
		{"3.2 attributesExclude include", `[{"target":"//div[@id='story']/p","attributesExclude":{"TYPE":"include","class":"promo"}}]`, "", "Buy"},
		{"3.2 attributesExclude NO_ATTRIBUTES", `[{"target":"//div[@id='story']/p","attributesExclude":{"TYPE":"include","class":"promo","NO_ATTRIBUTES":1}}]`, `{"SCRAPER_TEXT_MARKUP":{}}`, "One line Buy Two words"},
		{"3.2 canonicalizeURLs", `[{"target":"//a[@class='l']","type":"link","canonicalizeURLs":1}]`, "", "http://site.example/one?b=2,https://other.example/two"},
		{"3.2 canonicalizeURLs as text", `[{"target":"//img[1]","type":"image","canonicalizeURLs":"1"}]`, "", "http://site.example/a.png,http://site.example/a/lazy.png"},
		{"3.2 without canonicalizeURLs", `[{"target":"//a[@class='l']","type":"link"}]`, "", "../one?b=2#f,https://other.example/two"},

		{"3.3 text is text", `[{"target":"//h1"}]`, "", "Rain in spring"},
		{"3.3 text drops script and style", `[{"target":"//div[@id='story']"}]`, "", "One line Buy Two adwords"},
		{"3.3 text keeps tags if the site asks for them", `[{"target":"//h1"}]`, `{"SCRAPER_TEXT_MARKUP":"tags"}`, "Rain in <b>spring</b>"},
		{"3.3 kept tags have no script and style", `[{"target":"//div[@id='story']"}]`, `{"SCRAPER_TEXT_MARKUP":"tags"}`, "<p>One<br>line</p><p>Buy</p><p>Two <a>ad</a>words</p>"},
		{"3.3 text maximum", `[{"target":"//h2","format":"6"}]`, "", "Second"},
		{"3.3 text maxCh", `[{"target":"//h2","format":"maxCh=8"}]`, "", "Second &"},
		{"3.3 text maximum as a number", `[{"target":"//h2","format":3}]`, "", "Sec"},
		{"3.3 text maximum inside of a tag", `[{"target":"//h1","format":"10"}]`, `{"SCRAPER_TEXT_MARKUP":"tags"}`, "Rain in"},
		{"1.5 SCRAPER_TEXT_MARKUP", `[{"target":"//div[@id='story']"}]`, `{"SCRAPER_TEXT_MARKUP":{"P":"","/p":"\n","br":"/","a":"[%ATTRIBUTES%]"}}`, "One/line\nBuy\nTwo []adwords"},
		{"1.5 SCRAPER_KEEP_ATTRIBUTES in kept tags", `[{"target":"//div[@id='story']/p[3]"}]`, `{"SCRAPER_KEEP_ATTRIBUTES":{"a":["href"]}}`, `Two <a href="/x">ad</a>words`},
		{"1.5 SCRAPER_KEEP_ATTRIBUTES in markup", `[{"target":"//div[@id='story']/p[3]"}]`, `{"SCRAPER_KEEP_ATTRIBUTES":{"a":"href"},"SCRAPER_TEXT_MARKUP":{"a":"<a %ATTRIBUTES%>","/a":"</a>"}}`, `Two <a href="/x">ad</a>words`},
		{"1.5 CLOSE_VOID 1", `[{"target":"//div[@id='story']/p[1]"}]`, `{"CLOSE_VOID":"1"}`, "One<br/>line"},

		{"3.3 html", `[{"target":"//h1","type":"html"}]`, "", `<h1 class="head" title="T1">Rain in <b class="x">spring</b></h1>`},
		{"3.3 html removes comments", `[{"target":"//div[@id='story']","type":"html","attributesExclude":{"TYPE":"exclude","*":"promo|ad"}}]`, "", `<div id="story"><p>One<br>line</p><p>Two words</p><script>var a = 1;</script></div>`},
		{"3.3 html NO_SCRIPT", `[{"target":"//div[@id='story']","type":"html","format":"NO_SCRIPT | NO_COMMENTS"}]`, "", `<div id="story"><p>One<br>line</p><p class="promo big">Buy</p><p>Two <a class="ad" href="/x">ad</a>words</p></div>`},
		{"3.3 html NO_META", `[{"target":"//head","type":"html","format":"NO_META"}]`, `{"CLOSE_VOID":1}`, "<head>\n</head>"},
		{"3.3 html several matches", `[{"target":"//td","type":"html"}]`, "", `<td>c1</td> <td>c2</td>`},

		{"3.3 datetime of meta", `[{"target":"//meta[@name='date']","type":"datetime"}]`, "", "2026-03-05 18:07:00+09:00"},
		{"3.3 datetime of time", `[{"target":"//time","type":"datetime","format":"FULL"}]`, "", "2026-03-06 10:00:00"},
		{"3.3 datetime of text", `[{"target":"//span[@class='when']","type":"datetime"}]`, "", "2026-03-05 00:00:00"},
		{"3.3 datetime strftime", `[{"target":"//time","type":"datetime","format":"%d/%m/%y"}]`, "", "06/03/26"},
		{"3.3 datetime best takes a digit", `[{"target":"//*[@class='when' or @class='head' or self::article]","type":"datetime","join":"best"}]`, "", "2026-03-05 00:00:00"},
		{"3.3 datetime unknown form stays", `[{"target":"//h2","type":"datetime"}]`, "", "Second & last"},
		{"3.3 datetime concat", `[{"target":"//time|//meta[@name='date']","type":"datetime","format":"%Y%m%d","join":"concat"}]`, "", "20260305,20260306"},

		{"3.3 image URL", `[{"target":"//figure/img","type":"image","format":"URL"}]`, "", "/a.png,b.png,d.png"},
		{"3.3 image of an attribute", `[{"target":"//figure/img/@src","type":"image"}]`, "", "/a.png"},
		{"3.3 image CSS", `[{"target":"#none, .lazy","type":"image"}]`, "", "lazy.png"},
		{"3.3 image ALT", `[{"target":"//figure/img","type":"image","format":"ALT"}]`, "", "A,B,none"},
		{"3.3 image TITLE", `[{"target":"//figure/img","type":"image","format":"title"}]`, "", "TA"},
		{"3.3 image DATA", `[{"target":"//figure/img[1]","type":"image","format":"DATA"}]`, "", `<img src="/a.png" alt="A" title="TA">`},

		{"3.3 link adds href", `[{"target":"//a[.='2']","type":"link"}]`, "", "https://other.example/two"},
		{"3.3 link of an attribute", `[{"target":"//a[.='2']/@href","type":"link"}]`, "", "https://other.example/two"},
		{"3.3 link CSS", `[{"target":".l","type":"link","delimiter":" "}]`, "", "../one?b=2#f https://other.example/two"},
		{"3.3 link email-address", `[{"target":"//p[@id='mails']/a","type":"link","format":"email-address"}]`, "", "ann@site.example,bob@site.example,eve@site.example"},
		{"3.3 link n,email-address", `[{"target":"//p[@id='mails']/a","type":"link","format":"2,email-address"}]`, "", "ann@site.example,bob@site.example"},
		{"3.3 link email-to", `[{"target":"//p[@id='mails']/a/@href","type":"link","format":"email-to"}]`, "", "ann,bob,eve"},
		{"3.3 link email-text", `[{"target":"#mails a","type":"link","format":"email-text"}]`, "", "Ann,Bob and Eve"},

		{"3.3 attribute", `[{"target":"//img","type":"attribute","format":"alt"}]`, "", "A,B,none"},
		{"3.3 attribute max", `[{"target":"//article","type":"attribute","format":"16,data-id"}]`, "", "story-4711-abcde"},
		{"3.3 attribute of an attribute", `[{"target":"//article/@data-x","type":"attribute","format":"data-id"}]`, "", "q"},

		{"3.4 #1 mandatory without a match", `[{"target":"//h6","mandatory":1},{"target":"//h2","default":"d"}]`, "", ""},
		{"3.4 #1 mandatory concat is not mandatory", `[{"target":"//h6","mandatory":1,"join":"concat"},{"target":"//h2"}]`, "", "Second & last"},
		{"3.4 #2 first of equals", `[{"target":"//h6"},{"target":"//h2"},{"target":"//td"}]`, "", "Second & last"},
		{"3.4 #2 best wins", `[{"target":"//h2"},{"target":"//td[1]","join":"best"}]`, "", "c1"},
		{"3.4 #2 best without a match loses", `[{"target":"//h2"},{"target":"//h6","join":"best"}]`, "", "Second & last"},
		{"3.4 #2 mandatory wins", `[{"target":"//h2"},{"target":"//td[1]","mandatory":"1"}]`, "", "c1"},
		{"3.4 #2 best outweighs mandatory", `[{"target":"//h2","mandatory":true},{"target":"//td[1]","join":"best"}]`, "", "c1"},
		{"3.4 #3 concat", `[{"target":"//td[1]"},{"target":"//td[2]","join":"concat"},{"target":"//h6","join":"concat"}]`, "", "c1 c2"},
		{"3.4 #3 only concat matches", `[{"target":"//h6","default":"d"},{"target":"//td[2]","join":"concat"}]`, "", "c2"},
		{"3.4 #3 default of the winner", `[{"target":"//h6","default":"d"},{"target":"//h5","join":"concat","default":"e"}]`, "", "d"},
		{"3.4 #3 default of a later rule", `[{"target":"//h6"},{"target":"//h5","join":"concat","default":"e"}]`, "", "e"},
		{"3.4 #4 delimiter of each rule", `[{"target":"//td","delimiter":"-"},{"target":"//h2","join":"concat","delimiter":" + "}]`, "", "c1-c2 + Second & last"},

		{"3.5 groups", `[{"target":"//article/@data-id","postProcessing":"([0-9]+)-(ab)"}]`, "", "4711 ab"},
		{"3.5 without groups", `[{"target":"//article/@data-id","postProcessing":"[0-9]"}]`, "", "4 7 1 1"},
		{"3.5 empty groups are skipped", `[{"target":"//article/@data-id","postProcessing":"(x)?([0-9]{2})","delimiter":"."}]`, "", "47.11"},
		{"3.5 no match", `[{"target":"//h2","postProcessing":"([0-9]+)"}]`, "", ""},
		{"3.5 no match uses the default", `[{"target":"//h2","postProcessing":"([0-9]+)","default":"0"}]`, "", "0"},
		{"3.5 no match uses the next rule", `[{"target":"//h2","postProcessing":"([0-9]+)"},{"target":"//td[1]"}]`, "", "c1"},
		{"3.5 look-around", `[{"target":"//article/@data-id","postProcessing":"(?<=story-)\\d+"}]`, "", "4711"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := options()
			var err error
			if o.Text, err = ParseText(c.properties); err != nil {
				t.Fatal(err)
			}
			r, problems := apply(t, c.rules, page, o)
			if got := r.First("x"); got != c.want || len(problems) > 0 {
				t.Errorf("got %q (%s), want %q", got, messages(problems), c.want)
			}
		})
	}
}

func TestTagsOfAResult(t *testing.T) {
	r, problems := apply(t, `[{"target":"//td","type":"html"},{"target":"//h2","join":"concat"}]`, page, options())
	want := result.Tag{Name: "x", Data: []string{"<td>c1</td> <td>c2</td> Second & last"}, XPath: "//td //h2", Extractor: "ScrapyExtractor", Type: "html"}
	if len(problems) > 0 || len(r.Tags) != 1 || !slices.Equal(r.Tags[0].Data, want.Data) || r.Tags[0].XPath != want.XPath || r.Tags[0].Type != want.Type || r.Tags[0].Extractor != want.Extractor {
		t.Errorf("3.4 #4: %+v, %s", r.Tags, messages(problems))
	}
	r, _ = apply(t, `[{"target":"//h6","default":"d"}]`, page, options())
	if r.Count() != 0 || !r.Tags[0].Default || r.Tags[0].Data[0] != "d" {
		t.Errorf("3.4 #3: a default counts: %+v", r.Tags)
	}
}

// CLOSE_VOID, entities and texts that look like tags need pages of their own.
func TestMarkup(t *testing.T) {
	for name, c := range map[string]struct{ page, rule, properties, want string }{
		"1.5 CLOSE_VOID 2":              {`<p>a<br/>b<br>c<img src=x />d<script>"<br/>"</script>`, `{"target":"//p"}`, `{"CLOSE_VOID":2}`, "a<br/>b<br>c<img/>d"},
		"1.5 CLOSE_VOID 2 html":         {`<p>a<br/>b<br>`, `{"target":"//p","type":"html"}`, `{"CLOSE_VOID":2}`, "<p>a<br/>b<br></p>"},
		"3.3 html ENTITIES_ENCODED":     {`<p title="é">a &lt;b&gt; &amp; &eacute;</p>`, `{"target":"//p","type":"html","format":"ENTITIES_ENCODED"}`, "", `<p title="&#233;">a &lt;b&gt; &amp; &#233;</p>`},
		"3.3 html entities":             {`<p>a &lt;b&gt; &amp; &eacute;</p>`, `{"target":"//p","type":"html"}`, "", `<p>a &lt;b&gt; &amp; é</p>`},
		"3.3 html NO_SCRIPT attributes": {`<p onclick="x()"><a href=" java&#10;script:x()">a</a><script>1</script></p>`, `{"target":"//p","type":"html","format":"NO_SCRIPT"}`, "", `<p><a>a</a></p>`},
		"text among tags is no tag":     {`<p>&lt;script&gt; 3 < 4 &amp; x</p>`, `{"target":"//p"}`, `{"SCRAPER_TEXT_MARKUP":"tags"}`, `&lt;script> 3 < 4 & x`},
		"text has the characters":       {`<p>&lt;b&gt; &amp; &eacute; &#8364;</p>`, `{"target":"//p"}`, "", `<b> & é €`},
		"white space is one space":      {"<p>\n  Rain\n\t in  <b> spring </b>  of&nbsp;2026\n</p>", `{"target":"//p"}`, "", "Rain in spring of 2026"},
		"white space of pre":            {"<div>A <pre>x\n  <b>y</b></pre> B</div>", `{"target":"//div"}`, "", "A x\n  y B"},
		"a match inside of pre":         {"<pre><code>x\n  y</code></pre>", `{"target":"code"}`, "", "x\n  y"},
		"invisible characters":          {"<p>har&shy;bour&#8203;s\uFEFF</p>", `{"target":"//p"}`, "", "harbours"},
		"cells and list items":          {`<table><tr><td>a</td><td>b</td></tr></table><ul><li>c<li>d</ul>`, `{"target":"body"}`, "", "a b c d"},
		"lines are apart":               {`<p>5 Pier Road<br>Dover</p>`, `{"target":"//p"}`, "", "5 Pier Road Dover"},
		"an exponent stays one":         {`<p>10<sup>6</sup> and 10<sup>-3</sup>, x<sup>2</sup>, 3<sup>rd</sup>, H<sub>2</sub>O</p>`, `{"target":"//p"}`, "", "10^6 and 10^-3, x2, 3rd, H2O"},
		"words stay whole":              {`<p>H<sub>2</sub>O<div>next</div></p>`, `{"target":"//body"}`, `{"SCRAPER_TEXT_MARKUP":{}}`, "H2O next"},
		"svg attributes":                {`<svg><a xlink:href="x"></a></svg>`, `{"target":"//svg","type":"html"}`, "", `<svg><a xlink:href="x"></a></svg>`},
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			var err error
			if o.Text, err = ParseText(c.properties); err != nil {
				t.Fatal(err)
			}
			r, problems := apply(t, "["+c.rule+"]", string(o.Text.Prepare([]byte(c.page))), o)
			if got := r.First("x"); got != c.want || len(problems) > 0 {
				t.Errorf("got %q (%s), want %q", got, messages(problems), c.want)
			}
		})
	}
}

func TestReduce(t *testing.T) {
	for name, c := range map[string]struct{ properties, value, want string }{
		"1.5 SCRAPER_TEXT_REDUCER default":   {"", "a  b\n\n\nc<br><br>d\t\te<p><p>f", "a b\nc<br>d\te<p>f"},
		"1.5 SCRAPER_TEXT_REDUCER CR":        {"", "a\rb\r\n\r\nc\r", "a b\r\nc "},
		"1.5 SCRAPER_TEXT_REDUCER own":       {`{"SCRAPER_TEXT_REDUCER":"[\"x\",\"ab\"]"}`, "xxx  abab", "x  ab"},
		"1.5 SCRAPER_TEXT_REDUCER_MASK":      {`{"SCRAPER_TEXT_REDUCER_MASK":"1"}`, "a  b\n\nc", "a  b\nc"},
		"1.5 SCRAPER_TEXT_REDUCER_MASK none": {`{"SCRAPER_TEXT_REDUCER_MASK":0}`, "a  b\n\nc", "a  b\n\nc"},
	} {
		o, err := ParseText(c.properties)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.Reduce(c.value); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	o, err := ParseText("")
	if err != nil {
		t.Fatal(err)
	}
	s := set(t, `{"tags":{"content_encoded":["//pre"],"other":["//pre"]}}`)
	r, _ := s.Templates[0].Apply(context.Background(), parsed(t, "<pre>a  b"), Options{Text: o})
	if r.First("content_encoded") != "a b" || r.First("other") != "a  b" {
		t.Errorf("only content_encoded is reduced: %+v", r.Tags)
	}
}

func TestParseTextRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"SCRAPER_TEXT_MARKUP":[1]}`:           `"SCRAPER_TEXT_MARKUP" is not a JSON object`,
		`{"SCRAPER_TEXT_MARKUP":{"p":[]}}`:      `"SCRAPER_TEXT_MARKUP" has []; expected a text at "p"`,
		`{"SCRAPER_KEEP_ATTRIBUTES":{"p":{}}}`:  `"SCRAPER_KEEP_ATTRIBUTES" has {}; expected a text at "p"`,
		`{"CLOSE_VOID":3}`:                      `"CLOSE_VOID" has 3; expected 0, 1 or 2`,
		`{"CLOSE_VOID":"x"}`:                    `"CLOSE_VOID" has "x"; expected a whole number`,
		`{"SCRAPER_TEXT_REDUCER":{}}`:           `"SCRAPER_TEXT_REDUCER" has {}; expected a text`,
		`{"SCRAPER_TEXT_REDUCER_MASK":[]}`:      `"SCRAPER_TEXT_REDUCER_MASK" has []; expected a number`,
		`{"SCRAPER_TAG_ITEMS_DELIMITER":["a"]}`: `"SCRAPER_TAG_ITEMS_DELIMITER" has ["a"]; expected a text`,
		`{`:                                     `is not valid JSON: it ends too early`,
	} {
		if _, err := ParseText(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// Parts of a rule that cannot be followed have their bit and a message; the rest goes on.
func TestFaultyRules(t *testing.T) {
	for name, c := range map[string]struct {
		rule  string
		bits  errormask.Mask
		text  string
		value string
	}{
		"invalid XPath":                {`{"target":"//h2["}`, errormask.Scraper, `template 1, tag "x", rule 1: "target": compile XPath`, ""},
		"invalid XPath with a default": {`{"target":"//h2[","default":"d"}`, errormask.Scraper, "compile XPath", "d"},
		"invalid CSS":                  {`{"target":".a["}`, errormask.Scraper, `"target": compile CSS`, ""},
		"missing target":               {`{"type":"text"}`, errormask.Scraper, `"target": is missing`, ""},
		"3.5 invalid regexp":           {`{"target":"//h2","postProcessing":"("}`, errormask.Regexp, `"postProcessing" has an invalid expression "("`, "Second & last"},
		"unknown type":                 {`{"target":"//h2","type":"video"}`, errormask.Scraper, `"type" has "video"; expected text, html`, "Second & last"},
		"unknown join":                 {`{"target":"//h2","join":"all"}`, errormask.Scraper, `"join" has "all"; expected first, best or concat`, "Second & last"},
		"unknown format of text":       {`{"target":"//h2","format":"short"}`, errormask.Scraper, `"format" has "short", which type text does not know`, "Second & last"},
		"unknown format of image":      {`{"target":"//img","type":"image","format":"SIZE"}`, errormask.Scraper, `which type image does not know`, "/a.png,b.png,d.png,lazy.png"},
		"unknown format of link":       {`{"target":"//a[.='2']","type":"link","format":"phone"}`, errormask.Scraper, `which type link does not know`, "https://other.example/two"},
		"unknown flag of html":         {`{"target":"//td[1]","type":"html","format":"NO_STYLE"}`, errormask.Scraper, `which type html does not know`, "<td>c1</td>"},
		"long strftime":                {`{"target":"//time","type":"datetime","format":"` + strings.Repeat("%Y", 200) + `"}`, errormask.Scraper, `which type datetime does not know`, "2026-03-06 10:00:00"},
		"invalid attributesExclude":    {`{"target":"//h2","attributesExclude":{"class":"("}}`, errormask.Regexp, `"attributesExclude" has an invalid expression "(" at "class"`, "Second & last"},
		"unknown attributesExclude":    {`{"target":"//h2","attributesExclude":{"TYPE":"drop","class":"q"}}`, errormask.Scraper, `"attributesExclude" has the TYPE "drop"`, "Second & last"},
	} {
		t.Run(name, func(t *testing.T) {
			r, problems := apply(t, "["+c.rule+"]", page, options())
			if Bits(problems) != c.bits || !strings.Contains(messages(problems), c.text) || r.First("x") != c.value {
				t.Errorf("bits %v, %q, value %q; want %v, %q, %q", Bits(problems).Names(), messages(problems), r.First("x"), c.bits.Names(), c.text, c.value)
			}
			if c.bits != 0 {
				if s := set(t, `{"templates":[{"tags":{"x":[`+c.rule+`]}}]}`); messages(s.Problems()) != messages(problems) {
					t.Errorf("Problems: %q", messages(s.Problems()))
				}
			}
		})
	}
}

func TestSlowPostProcessing(t *testing.T) {
	rule := `{"target":"//p","join":"concat","postProcessing":"^(a+)+(?=b)$"}`
	r, problems := apply(t, "["+rule+strings.Repeat(","+rule, 9)+"]", "<p>"+strings.Repeat("a", 60), options())
	if Bits(problems) != errormask.Regexp || len(problems) != 10 || strings.Count(messages(problems), "because others took too much time") != 10-maxSlow || len(r.First("x")) != 10*61-1 {
		t.Errorf("%s: %s", r.First("x"), messages(problems))
	}
}

// docs/spec/processing.md 3.2 postProcessing, 3.5.
func TestPostProcessDynamicTags(t *testing.T) {
	s := set(t, `{"tags":{"title":[{"target":"//x","postProcessing":"(\\w+)"}],"author":[{"target":"//x","postProcessing":"[0-9]+"}],"link":["//x"]}}`)
	var r result.Result
	r.Add(result.Tag{Name: "title", Data: []string{"a, b", "c"}})
	r.Add(result.Tag{Name: "author", Data: []string{"Ann"}})
	r.Add(result.Tag{Name: "link", Data: []string{"l"}})
	problems := s.Templates[0].PostProcess(&r, Options{})
	if got, _ := json.Marshal(map[string]any{"title": r.Tag("title").Data, "link": r.First("link"), "author": r.Tag("author")}); string(got) != `{"author":null,"link":"l","title":["a b","c"]}` || len(problems) > 0 {
		t.Errorf("3.5: %s, %s", got, messages(problems))
	}
}

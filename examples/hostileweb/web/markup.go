package web

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"hce/dc/internal/wire/errormask"
)

const doc = "<!DOCTYPE html><html lang=en><head><title>A page</title></head><body><p>It has a text of its own, and then it goes on.</p>"

// nestedTraps pages attack the builder of a tree.
func nestedTraps() []Trap {
	return []Trap{
		{Path: "/markup/deep", What: "a million divs, one in the other", serve: serveRepeated(doc, "<div>", 1_000_000, "deep")},
		{Path: "/markup/deep-mixed", What: "half a million open tags of seven kinds", serve: serveRepeated(doc, "<b><i><a><font><ul><li><p>", 500_000/7, "deep")},
		{Path: "/markup/tables", What: "tables in tables, with text where none may be", serve: serveRepeated(doc, "<table>x<tr>y<td>", 50_000, "deep")},
		{Path: "/markup/formatting", What: "formatting that is never closed, and paragraphs that take it on", serve: serveRepeated(doc, "<p><b><i><u><s><tt>word", 20_000, "")},
		{Path: "/markup/misnested", What: "tags that are closed in the wrong order", serve: serveRepeated(doc, "<a href=/x><b></a>", 100_000, "")},
		{Path: "/markup/svg", What: "SVG in MathML in SVG", serve: serveRepeated(doc, "<svg><foreignObject><math><mtext>", 50_000, "")},
		{Path: "/markup/templates", What: "templates in templates", serve: serveRepeated(doc, "<template>", 200_000, "")},
		{Path: "/markup/selects", What: "a select with a million options", serve: serveRepeated(doc+"<select>", "<option>x", 1_000_000, "")},
	}
}

// giantTraps pages have one thing without measure: a text, a tag, a list of links.
func giantTraps() []Trap {
	return []Trap{
		{Path: "/markup/title", What: "a title of 10 MB", serve: serveRepeated("<!DOCTYPE html><title>", "title ", 1_700_000, "</title><p>Text.")},
		{Path: "/markup/attribute", What: "an attribute of 10 MB", serve: serveRepeated(doc+`<a title="`, "attribute ", 1_000_000, `" href="/x">x</a>`)},
		{Path: "/markup/attributes", What: "a tag with a million attributes", serve: serveBody(htmlUTF8, func(w io.Writer) {
			io.WriteString(w, doc+"<a")
			for i := range 1_000_000 {
				if _, err := fmt.Fprintf(w, " a%d=1", i); err != nil {
					return
				}
			}
			io.WriteString(w, ` href="/x">x</a>`)
		})},
		{Path: "/markup/tag-name", What: "a tag whose name has 10 MB", serve: serveRepeated(doc+"<", "name", 2_500_000, ">x")},
		{Path: "/markup/metas", What: "half a million meta tags", serve: serveRepeated("<!DOCTYPE html><head>", `<meta name=k content=v>`, 500_000, "<title>Metas</title><p>Text.")},
		{Path: "/markup/metas-endless", What: "meta tags without an end", Ends: listMasks(errormask.Size), serve: serveBody(htmlUTF8, func(w io.Writer) {
			io.WriteString(w, "<!DOCTYPE html><head>")
			floodText(w, `<meta http-equiv=refresh content="99999;url=/x">`)
		})},
		{Path: "/markup/links", What: "10 MB of links", Ends: listMasks(errormask.MaxURLsFromPage), serve: serveNumbered(doc, `<a href="/trap/link/%d">x</a>`, 300_000)},
		{Path: "/markup/same-links", What: "10 MB of the same link", serve: serveRepeated(doc, `<a href="/markup/same-links#x">x</a>`, 280_000, "")},
		{Path: "/markup/hosts", What: "links to a hundred thousand hosts", Ends: listMasks(errormask.MaxURLsFromPage), serve: serveNumbered(doc, `<a href="http://h%d.invalid/">x</a>`, 100_000)},
		{Path: "/markup/srcset", What: "a srcset of 5 MB", serve: serveBody(htmlUTF8, func(w io.Writer) {
			io.WriteString(w, doc+`<img srcset="`)
			for i := range 200_000 {
				if _, err := fmt.Fprintf(w, "/trap/image/%d.png %dw, ", i, i); err != nil {
					return
				}
			}
			io.WriteString(w, `" src="/x.png">`)
		})},
		{Path: "/markup/srcset-commas", What: "a srcset of commas, spaces and parentheses", serve: serveRepeated(doc+`<img srcset="`, ",(, ", 1_000_000, `">`)},
		{Path: "/markup/url", What: "a link of 5 MB", serve: serveRepeated(doc+`<a href="/`, "long/", 1_000_000, `">x</a>`)},
		{Path: "/markup/dots", What: "a link of dots that climb", serve: serveRepeated(doc+`<a href="/`, "a/../", 400_000, `x">x</a>`)},
		{Path: "/markup/urls", What: "invalid links, some with bytes that are not UTF-8", Ends: listMasks(errormask.BadEncoding), serve: serveText(htmlUTF8, doc+`
<a href="javascript:alert(1)">x</a><a href="data:text/html,x">x</a><a href="http://">x</a><a href="http://[">x</a>
<a href="http://a b/">x</a><a href="//">x</a><a href="http:\\127.0.0.1:99999\x">x</a><a href="/%zz%">x</a><a href="`+"/\x00/\xff\xfe/\u202e"+`">x</a>
<a href="http://127.0.0.1:0/">x</a><a href="http://user:pass@10.0.0.1/">x</a><a href="`+"/new\nline\ttab"+`">x</a><a href="http://xn--/">x</a><a href="?`+strings.Repeat("&a=b", 10_000)+`">x</a>
<a href="mailto:a@b.invalid">x</a><a href="&#0;&#xD800;&#x110000;">x</a><a href="tel:1">x</a><a href="about:blank">x</a><a href>x</a>`)},
		{Path: "/markup/base", What: "many base elements: scripts, data, other hosts, nonsense", serve: serveText(htmlUTF8, `<!DOCTYPE html><head>
<base href="javascript:alert(1)"><base href="data:text/html,x"><base href="http://["><base href="http://10.0.0.1/"><base target=_top>
<title>Bases</title></head><body><a href="below">x</a><base href="/late/"></body>`)},
	}
}

// unfinishedTraps pages have frames, comments and tags without an end.
func unfinishedTraps() []Trap {
	return []Trap{
		{Path: "/markup/frames", What: "a page that frames the next one, and that the next", serve: func(w http.ResponseWriter, r *http.Request) {
			n, _ := strconv.Atoi(r.FormValue("n"))
			serveText(htmlUTF8, fmt.Sprintf(`%s<iframe src="/markup/frames"></iframe><iframe src="/markup/frames?n=%d"></iframe><frame src="?n=%d">`, doc, n+1, n+1))(w, r)
		}},
		{Path: "/markup/srcdoc", What: "a frame that holds a frame that holds a frame, in its own source", serve: serveText(htmlUTF8, doc+nestedFrames(14))},
		{Path: "/markup/noscript", What: "noscript in noscript, in the head", serve: serveRepeated("<!DOCTYPE html><head>", "<noscript><p>", 100_000, "")},
		{Path: "/markup/comment", What: "a comment of 8 MB that never ends", serve: serveRepeated(doc+"<!--", "-- comment ", 750_000, "")},
		{Path: "/markup/comments", What: "two million beginnings of a comment", serve: serveRepeated(doc, "<!--<!", 2_000_000, "")},
		{Path: "/markup/cdata", What: "two hundred thousand CDATA sections that never end", serve: serveRepeated(doc+"<svg>", "<![CDATA[", 200_000, "")},
		{Path: "/markup/open-tags", What: "two million tags that are never finished", serve: serveRepeated(doc, "<a ", 2_000_000, "")},
		{Path: "/markup/open-quotes", What: "half a million attributes that are never finished", serve: serveRepeated(doc, `<a href='"`, 500_000, "")},
		{Path: "/markup/scripts", What: "scripts in comments in scripts that never end", serve: serveRepeated(doc+"<script>", "<!--<script>", 500_000, "")},
		{Path: "/markup/end-tags", What: "half a million end tags of nothing", serve: serveRepeated(doc, "</p></x></body></html>", 250_000, "x")},
		{Path: "/markup/entities", What: "a million entities, known, unknown and unfinished", serve: serveRepeated(doc, "&amp;&bogus;&#x41;&#99999999999;&notin", 200_000, "")},
		{Path: "/markup/doctype", What: "a doctype of 8 MB", serve: serveRepeated("<!DOCTYPE html PUBLIC \"", "x", 8_000_000, "\"><title>x</title><p>Text.")},
		{Path: "/markup/lines", What: "eight million empty lines", serve: serveRepeated(doc, "\n", 8_000_000, "")},
	}
}

// scriptTraps pages attack readers of styles, of data and of scripts.
func scriptTraps() []Trap {
	return []Trap{
		{Path: "/markup/css", What: "a style of half a million imports", serve: serveRepeated(doc+"<style>", `@import url(/trap/style/x.css);`, 300_000, "</style>")},
		{Path: "/markup/css-open", What: "a style of unfinished functions", serve: serveRepeated(doc+"<style>", `a{b:url(((`, 300_000, "</style>")},
		{Path: "/markup/styles.css", What: "a style sheet that imports itself and the next one", serve: func(w http.ResponseWriter, r *http.Request) {
			n, _ := strconv.Atoi(r.FormValue("n"))
			serveText("text/css", fmt.Sprintf(`@import "styles.css"; @import url(styles.css?n=%d); a{b:url("`, n+1))(w, r)
		}},
		{Path: "/markup/json-ld", What: "data in JSON, in half a million lists", serve: serveRepeated(doc+`<script type="application/ld+json">`, "[", 500_000, "</script>")},
		{Path: "/markup/script-only", What: "a page that only a script writes",
			serve: serveText(htmlUTF8, `<!DOCTYPE html><html><head><title>Loading</title></head><body><div id=app></div><script>document.getElementById("app").innerHTML = "<p>Written by a script.</p><a href='/trap/scripted'>x</a>"</script></body></html>`)},
		{Path: "/markup/script-endless", What: "a page whose script never ends and fills the memory",
			serve: serveText(htmlUTF8, `<!DOCTYPE html><title>Busy</title><p>Text.<script>var a = []; while (true) a.push(new Array(1000000).join("x"))</script>`)},
	}
}

// referralTraps pages name another page as the right one.
func referralTraps() []Trap {
	return []Trap{
		{Path: "/markup/canonical/a", What: "calls its neighbour the canonical one, which says the same of it", serve: serveText(htmlUTF8, canonicalPage("/markup/canonical/b"))},
		{Path: "/markup/canonical/b", What: "the neighbour", serve: serveText(htmlUTF8, canonicalPage("/markup/canonical/a"))},
		{Path: "/markup/canonical/many", What: "a thousand canonical URLs, all different", serve: serveNumbered("<!DOCTYPE html><head>", `<link rel=canonical href="/trap/canonical/%d">`, 1000)},
		{Path: "/markup/refresh/self", What: "refreshes itself", serve: serveText(htmlUTF8, refreshPage("/markup/refresh/self"))},
		{Path: "/markup/refresh/a", What: "refreshes to a page that refreshes back", serve: serveText(htmlUTF8, refreshPage("/markup/refresh/b"))},
		{Path: "/markup/refresh/b", What: "the other half of that loop", serve: serveText(htmlUTF8, refreshPage("/markup/refresh/a"))},
		{Path: "/markup/refresh/endless", What: "refreshes to the next number, always", Ends: listMasks(errormask.MaxHTMLRedirects), serve: func(w http.ResponseWriter, r *http.Request) {
			n, _ := strconv.Atoi(r.FormValue("n"))
			serveText(htmlUTF8, refreshPage(fmt.Sprint("/markup/refresh/endless?n=", n+1)))(w, r)
		}},
		{Path: "/markup/refresh/private", What: "refreshes into a private network", Ends: listMasks(errormask.Guard | errormask.Connection), serve: serveText(htmlUTF8, refreshPage("http://10.0.0.1/"))},
		{Path: "/markup/refresh/odd", What: "refreshes with invalid values", serve: serveText(htmlUTF8, `<!DOCTYPE html><head><meta http-equiv=refresh content="url"><meta http-equiv=refresh content=";;;url=''"><meta http-equiv=refresh content="999999999999999999999"><meta http-equiv=refresh content="0;url=javascript:alert(1)"><title>Odd</title></head><p>Text.</p>`)},
	}
}

// serveNumbered is an HTML page of start and part with the numbers below n.
func serveNumbered(start, part string, n int) http.HandlerFunc {
	return serveBody(htmlUTF8, func(w io.Writer) {
		io.WriteString(w, start)
		for i := range n {
			if _, err := fmt.Fprintf(w, part, i); err != nil {
				return
			}
		}
	})
}

func canonicalPage(target string) string {
	return `<!DOCTYPE html><head><title>A page</title><link rel="canonical" href="` + target + `"></head><p>Which of us is it?</p>`
}

func refreshPage(target string) string {
	return `<!DOCTYPE html><head><title>A page</title><meta http-equiv="refresh" content="0; url=` + target + `"></head><p>Going on.</p>`
}

// nestedFrames grows by half with each step, because the inner quotes are escaped again.
func nestedFrames(n int) string {
	inner := "<p>inner</p>"
	for range n {
		inner = `<iframe srcdoc="` + strings.NewReplacer("&", "&amp;", `"`, "&quot;").Replace(inner) + `"></iframe>`
	}
	return inner
}

package extractor

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"

	"hce/dc/internal/process/article"
	"hce/dc/internal/wire/result"
)

const pageURL = "https://post.example/town/mill.html"

// prose is a text in which each sentence has a number of its own.
const prose = `<p>Sentence one says that the old mill at the river has a new owner, and that he wants to bake.</p>
<p>Sentence two says that the wheel was taken out in winter, when the water was low and the smith had time.</p>
<p>Sentence three says that the children of the village may come on Fridays, and that bread is free for them.</p>
<p>Sentence four says that the council has promised a road, which nobody believes before it is built.</p>`

// page is a whole page with the body.
func page(body string) string {
	return `<!DOCTYPE html><html lang="en"><head><title>The mill | The Post</title><meta name="author" content="Ann Bell">
<meta property="og:title" content="The mill"><meta name="description" content="A mill is sold."></head><body>` + body + `</body></html>`
}

// Every extractor reads every page without a panic, in bounded time and memory, and leaves the
// tree as it was. Its texts are valid UTF-8, and its sentences are whole and in their order.
func TestConformance(t *testing.T) {
	many := strings.Repeat
	for _, c := range []struct {
		name, text string
		ordered    bool // has the sentences of prose
	}{
		{name: "empty page"},
		{name: "white space", text: " \n\t "},
		{name: "no body", text: "<html><head><title>T</title></head></html>"},
		{name: "article", text: page("<nav><a href=/>Home</a></nav><article><h1>The mill</h1>" + prose + "</article><footer>All rights</footer>"), ordered: true},
		{name: "broken HTML", text: page("<div><article><h1>The mill<p></div>" + strings.ReplaceAll(prose, "</p>", "</span></b>") + "<table><tr><p>x</table></article>"), ordered: true},
		{name: "unclosed tag at the end", text: page("<article>"+prose+"</article>") + "<div class=\"", ordered: true},
		{name: "inline elements", text: page("<article>" + strings.ReplaceAll(prose, "says that", "<b>says</b> <a href=/x><i>that</i></a>") + "</article>"), ordered: true},
		{name: "unknown elements", text: page("<x-page><x-text>" + strings.ReplaceAll(prose, "says", "<x-verb>says</x-verb>") + "</x-text></x-page>"), ordered: true},
		{name: "scripts only", text: page("<div id=root></div><script>document.write('<p>no</p>')</script><script type='application/ld+json'>{\"@type\":\"Article\",\"headline\":[1,{}],}</script>")},
		{name: "two languages", text: page("<article>" + prose + "<p lang=ru>Мельница у реки продана, и новый владелец хочет печь хлеб для всей деревни.</p><p lang=ja>川のほとりの古い水車小屋が売られ、新しい持ち主は村のためにパンを焼くつもりだ。</p></article>"), ordered: true},
		{name: "frameset", text: "<html><head><title>F</title></head><frameset cols='*,*'><frame src=a><noframes>Without frames</noframes></frameset></html>"},
		{name: "huge attribute", text: page("<article class='" + many("wide ", 100_000) + "' data-x='" + many("y", 400_000) + "'>" + prose + "</article>"), ordered: true},
		{name: "deep nesting", text: page(many("<div>", 300) + prose + many("</div>", 300)), ordered: true},
		{name: "nested deep", text: page(many("<div>", 2000) + prose)},
		{name: "too large for a tree", text: page(many("<p>word ", 300_000))},
		{name: "formatting never closed", text: page(many("<b><i><u>", 100) + many("<p>x", 500))},
		{name: "broken UTF-8", text: page("<article>\xff\xfe" + prose + "\xc3</article>"), ordered: true},
		{name: "control characters", text: page("<article>\x01\x02" + prose + "\x1f</article>"), ordered: true},
		{name: "metadata that is no text", text: `<script type="application/ld+json">{"@type":"Article","headline":{"a":1},"author":5,"image":[[]],"articleBody":null}</script><article>` + prose, ordered: true},
		{name: "base that is no URL", text: `<base href="http://[::1"><link rel=canonical href="%zz"><article><img src="http://[">` + prose, ordered: true},
	} {
		for _, name := range All() {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				p := article.NewPage([]byte(c.text), pageURL, "")
				before := render(t, p)
				found, err := newExtractor(name, Options{}).Extract(context.Background(), p)
				if err != nil {
					t.Errorf("error %v", err)
				}
				if !bytes.Equal(before, render(t, p)) {
					t.Error("the tree of the page was changed")
				}
				checkTags(t, name, len(c.text), found.Tags)
				if c.ordered {
					checkOrder(t, found.Tags)
				}
			})
		}
	}
}

// render returns the tree of a page as HTML.
func render(t *testing.T, p *article.Page) []byte {
	t.Helper()
	var b bytes.Buffer
	if doc, err := p.Tree(); err == nil {
		if err := html.Render(&b, doc); err != nil {
			t.Log(err)
		}
	}
	return b.Bytes()
}

// checkTags checks what holds for the tags of every page.
func checkTags(t *testing.T, name string, size int, tags []result.Tag) {
	t.Helper()
	seen := map[string]bool{}
	for _, tag := range tags {
		if seen[tag.Name] || tag.Extractor != name || len(tag.Data) == 0 {
			t.Errorf("tag %+.200v", tag)
		}
		seen[tag.Name] = true
		for _, value := range tag.Data {
			if !utf8.ValidString(value) || strings.TrimSpace(value) == "" || len(value) > 3*size+1000 {
				t.Errorf("tag %s has %d bytes %.100q", tag.Name, len(value), value)
			}
		}
	}
}

// checkOrder checks that the text has the sentences of prose.
func checkOrder(t *testing.T, tags []result.Tag) {
	t.Helper()
	i := slices.IndexFunc(tags, func(tag result.Tag) bool { return tag.Name == "content_encoded" })
	if i < 0 {
		t.Fatal("no content_encoded")
	}
	text := strings.Join(strings.Fields(tags[i].Data[0]), " ")
	for _, sentence := range []string{
		"Sentence one says that the old mill", "he wants to bake.", "Sentence two says that the wheel", "the smith had time.",
		"Sentence three says that the children", "free for them.", "Sentence four says that the council", "before it is built.",
	} {
		_, after, ok := strings.Cut(text, sentence)
		if !ok {
			t.Fatalf("no %q, in its order, in %q", sentence, text)
		}
		text = after
	}
}

//go:build e2e

package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/wire"
)

// Pages of three sites go through the daemon: one with a template, a feed with two entries, and a list with
// two items. Their contents are what the templates say (docs/spec/processing.md 3.9, 3.10, 4.1).
func TestTemplates(t *testing.T) {
	t.Parallel()
	w := newWitness(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, text := "text/html; charset=utf-8", ""
		switch r.URL.Path {
		case "/news/1":
			text = `<title>x</title><h1>The "harbour" opens</h1><p class=by><a>Ann Reed</a> <a>Bo Lind</a></p><div id=story><p>One.</p><p class=promo>Buy!</p><p>Two.</p></div>`
		case "/feed.xml":
			kind = "application/rss+xml"
			text = `<rss version="2.0"><channel><title>Feed</title>` +
				`<item><title>First &amp; best</title><link>http://` + r.Host + `/entry/1</link><pubDate>Mon, 05 Jan 2026 10:00:00 GMT</pubDate></item>` +
				`<item><title>Second</title><link>http://` + r.Host + `/entry/2</link><pubDate>Tue, 06 Jan 2026 10:00:00 GMT</pubDate></item></channel></rss>`
		case "/shop/":
			text = `<h1>Goods</h1><ul><li><h3>Lamp</h3><b>12.50 EUR</b></li><li><h3>Chair; red</h3><b>40 EUR</b></li></ul>`
		default:
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", kind)
		fmt.Fprint(w, text)
	}))
	r := start(t, t.TempDir())
	plain := `{"SCRAPER_TEXT_MARKUP":{}}`
	news := newSite(t, r, rig.Site{Root: w.URL + "/news/1", Properties: map[string]string{"PROCESSOR_PROPERTIES": plain, "template": `{"templates":[
		{"name":"shop","priority":2,"condition":{"field":"url","pattern":".*/shop/"},"tags":{"title":["//title"]}},
		{"name":"story","priority":1,"mandatory":1,"tags":{"title":["//h1"],"author":[{"target":".by a","join":"concat","delimiter":", "}],
		 "text":[{"target":"//div[@id='story']/p","delimiter":" ","attributesExclude":{"TYPE":"exclude","class":"promo"}}]},
		 "output_format":{"name":"json","item":"{\"title\":\"%title%\",\"by\":\"%author%\",\"text\":\"%text%\",\"bits\":\"%errors_mask%\"}"}}]}`}})
	feed := newSite(t, r, rig.Site{Root: w.URL + "/feed.xml", Filter: "^" + w.URL + "/", Properties: map[string]string{
		"PROCESSOR_NAME": "FEED_PARSER", "PROCESS_CTYPES": "text/html,text/json", "template": `{"templates":[{"output_format":{"name":"text","item":"%title% of %pubDate%"}}]}`}})
	shop := newSite(t, r, rig.Site{Root: w.URL + "/shop/", Properties: map[string]string{"PROCESSOR_NAME": "SCRAPER_MULTI_ITEMS", "PROCESSOR_PROPERTIES": plain,
		"template": `{"templates":[{"tags":{"product":[{"target":"//li/h3","mandatory":1}],"price":[{"target":"//li/b","postProcessing":"([0-9.]+)"}]},
		 "output_format":{"name":"csv","item":"%order_number%;%product%;%price%"}}]}`}})
	finish(t, r, news, feed, shop)
	for _, c := range []struct{ site, path, want string }{
		{news, "/news/1", `{"title":"The \"harbour\" opens","by":"Ann Reed, Bo Lind","text":"One. Two.","bits":"0"}`},
		{feed, "/entry/1", "First & best of Mon, 05 Jan 2026 10:00:00 GMT"},
		{feed, "/entry/2", "Second of Tue, 06 Jan 2026 10:00:00 GMT"},
		{shop, "/shop/", "1;Lamp;12.50"},
		{shop, "/shop/#1", "2;Chair; red;40"},
	} {
		row, known := rows(t, r, c.site)[w.URL+c.path]
		if !known || row.Status != wire.StatusProcessed || row.ErrorMask != 0 {
			t.Errorf("%s: status %d, %v", c.path, row.Status, row.ErrorMask.Names())
			continue
		}
		if got := processed(t, r, row); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.path, got, c.want)
		}
	}
	for _, v := range w.requests() {
		if strings.HasPrefix(v.URL, "/entry/") {
			t.Errorf("the page of an entry was requested: %s", v.URL)
		}
	}
}

// processed returns the processed content of a row, as clients get it.
func processed(t *testing.T, r *rig.Rig, row wire.URL) string {
	t.Helper()
	var answers []struct{ ProcessedContents []struct{ Buffer string } }
	err := r.Ask(t.Context(), "URL_CONTENT", []any{map[string]any{"siteId": row.SiteID, "url": row.URL, "urlMd5": row.URLMd5, "contentTypeMask": 1}}, &answers)
	if err != nil || len(answers) != 1 || len(answers[0].ProcessedContents) != 1 {
		t.Fatalf("content of %s: %+v, %v", row.URL, answers, err)
	}
	text, err := base64.StdEncoding.DecodeString(answers[0].ProcessedContents[0].Buffer)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

package feed

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/testkit/testgolden"
)

// TestGolden parses each feed in testdata in both modes with its zero item, and compares
// the result with the golden file.
func TestGolden(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.xml", "*.feed.json"} {
		found, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 5 {
		t.Fatalf("only %d feeds below testdata", len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var both []Feed
			for _, standard := range []bool{false, true} {
				f, err := Parse(body, Options{Standard: standard, ZeroItem: true})
				if err != nil {
					t.Fatal(err)
				}
				both = append(both, f)
			}
			got, err := json.MarshalIndent(map[string]Feed{"original": both[0], "standard": both[1]}, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			testgolden.Equal(t, file+".golden", string(got)+"\n")
		})
	}
}

func rssOf(items string) string {
	return `<rss version="2.0"><channel><title>T</title><link>http://h/</link>` + items + `</channel></rss>`
}

func urls(f Feed) string {
	var list []string
	for _, e := range f.Items {
		list = append(list, e.URL)
	}
	return strings.Join(list, " ")
}

func TestParseBrokenFeeds(t *testing.T) {
	item := func(n int) string { return fmt.Sprintf("<item><title>%d</title><link>http://h/%d</link></item>", n, n) }
	for name, tt := range map[string]struct{ in, want string }{
		"whole":                        {rssOf(item(1) + item(2)), "http://h/1 http://h/2"},
		"cut between entries":          {`<rss><channel>` + item(1) + item(2), "http://h/1 http://h/2"},
		"cut in an entry":              {`<rss><channel>` + item(1) + `<item><link>http://h/2</link><desc`, "http://h/1 http://h/2"},
		"cut in a CDATA section":       {`<rss><channel>` + item(1) + `<item><link>http://h/2</link><description><![CDATA[<p>x`, "http://h/1 http://h/2"},
		"cut in a link":                {`<rss><channel>` + item(1) + `<item><title>2</title><link>http://h/2`, "http://h/1 "},
		"items never closed":           {rssOf(`<item><link>http://h/1</link><item><link>http://h/2</link>`), "http://h/1 http://h/2"},
		"tag never closed":             {rssOf(`<item><link>http://h/1</link><title>x</item>` + item(2)), "http://h/1 http://h/2"},
		"wrong end tag":                {rssOf(`<item><link>http://h/1</link></b></item>` + item(2)), "http://h/1 http://h/2"},
		"control characters":           {rssOf("<item><title>\x00\x08&#1;</title><link>http://h/1\x0b</link></item>"), "http://h/1"},
		"entities of HTML":             {rssOf(`<item><title>a&nbsp;b&eacute;</title><link>http://h/?a=1&b=2&amp;c=3</link></item>`), "http://h/?a=1&b=2&c=3"},
		"markup before the root":       {"<br />\n<b>Warning</b>: x in <b>y</b>\n" + rssOf(item(1)), "http://h/1"},
		"declaration 1.1":              {`<?xml version="1.1" encoding="utf-16"?>` + rssOf(item(1)), "http://h/1"},
		"two declarations":             {`<?xml version="1.0"?> <?xml version="1.0" encoding="x"?>` + rssOf(item(1)), "http://h/1"},
		"upper case":                   {`<RSS><CHANNEL><ITEM><LINK>http://h/1</LINK></ITEM></CHANNEL></RSS>`, "http://h/1"},
		"rss in the namespace of Atom": {`<rss xmlns="http://www.w3.org/2005/Atom"><channel>` + item(1) + `</channel></rss>`, "http://h/1"},
		"unknown prefix":               {`<x:feed><x:entry><x:link href="http://h/1"/></x:entry></x:feed>`, "http://h/1"},
		"atom link as text":            {`<feed><entry><link>http://h/1</link></entry></feed>`, "http://h/1"},
		"no entries":                   {rssOf(""), ""},
		"entry without a link":         {rssOf(`<item><title>t</title></item>`), ""},
		"entity bomb": {`<!DOCTYPE r [<!ENTITY a "http://h/"><!ENTITY b "&a;&a;&a;"><!ENTITY x SYSTEM "file:///etc/passwd">]>` +
			rssOf(`<item><link>&b;</link><title>&x;</title></item>`), "&b;"},
		"deep nesting":   {rssOf(`<item><link>http://h/1</link>` + strings.Repeat("<a>", 100_000) + `</item>` + item(2)), "http://h/1 http://h/2"},
		"json":           {`{"version":"https://jsonfeed.org/version/1.1","items":[{"id":1,"url":"http://h/1"},{"id":"2","url":"http://h/2"}]}`, "http://h/1 http://h/2"},
		"json cut":       {`{"version":"https://jsonfeed.org/version/1.1","items":[{"id":"1","url":"http://h/1"},{"id":"2","ur`, "http://h/1"},
		"json bad types": {`{"version":"https://jsonfeed.org/version/1","items":[{"id":"1","url":"http://h/1","tags":"x","title":7},5,{"url":"http://h/2"}]}`, "http://h/1 http://h/2"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, standard := range []bool{false, true} {
				f, err := Parse([]byte(tt.in), Options{ContentType: "text/xml", Standard: standard})
				if err != nil {
					t.Fatal(err)
				}
				if got := urls(f); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				for _, e := range f.Items {
					if !json.Valid(e.Data) {
						t.Errorf("data is not JSON: %s", e.Data)
					}
				}
			}
		})
	}
}

// A guid that is no permanent link is no link of the entry, but the only address of a sitemap's item.
func TestGUIDAlone(t *testing.T) {
	for in, want := range map[string]string{
		`<guid isPermaLink="false"> http://h/1 </guid>`:                            "http://h/1",
		`<guid isPermaLink="false">tag:1</guid>`:                                   "",
		`<guid isPermaLink="false">http://h/1</guid><link>http://h/2</link>`:       "",
		`<guid isPermaLink="false">http://h/1</guid><enclosure url="http://h/3"/>`: "",
		`<guid>http://h/1</guid>`:                                                  "",
	} {
		f, err := Parse([]byte(rssOf("<item>"+in+"</item>")), Options{})
		if err != nil || len(f.Items) != 1 || f.Items[0].GUID != want {
			t.Errorf("%s: %+v, %v; want %q", in, f.Items, err, want)
		}
	}
}

func TestBestLink(t *testing.T) {
	for name, tt := range map[string]struct{ in, url, contentType string }{
		"link":                         {`<link> http://h/1 </link><guid>http://h/2</guid>`, "http://h/1", ""},
		"link in CDATA":                {`<link><![CDATA[ http://h/1 ]]></link>`, "http://h/1", ""},
		"relative link":                {`<link>/1</link>`, "/1", ""},
		"guid":                         {`<guid>http://h/2</guid><enclosure url="http://h/3" type="audio/mpeg"/>`, "http://h/2", ""},
		"guid is not a permanent link": {`<guid isPermaLink="false">http://h/2</guid><enclosure url="http://h/3" type="audio/mpeg"/>`, "http://h/3", "audio/mpeg"},
		"guid is not a URL":            {`<guid>tag:1</guid><enclosure url="http://h/3" type="audio/mpeg"/>`, "http://h/3", "audio/mpeg"},
		"atom link":                    {`<atom:link xmlns:atom="http://www.w3.org/2005/Atom" href="http://h/4" type="text/html"/>`, "http://h/4", "text/html"},
		"link with href":               {`<link href="http://h/5"/>`, "http://h/5", ""},
		"media":                        {`<media:content xmlns:media="http://search.yahoo.com/mrss/" url="http://h/6" type="video/mp4"/>`, "http://h/6", "video/mp4"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := Parse([]byte(rssOf("<item>"+tt.in+"</item>")), Options{})
			if err != nil || len(f.Items) != 1 {
				t.Fatalf("%v, %d entries", err, len(f.Items))
			}
			if e := f.Items[0]; e.URL != tt.url || e.ContentType != tt.contentType {
				t.Errorf("got %q of type %q, want %q of type %q", e.URL, e.ContentType, tt.url, tt.contentType)
			}
		})
	}
}

func TestDatesAnywhere(t *testing.T) {
	for name, in := range map[string]string{
		"undeclared prefix":   rssOf(`<item><DC:date>2024-03-05</DC:date></item>`),
		"Atom element in RSS": rssOf(`<item><published>2024-03-05</published></item>`),
		"invalid date first":  rssOf(`<item><pubDate>soon</pubDate><dc:date xmlns:dc="http://purl.org/dc/elements/1.1/">2024-03-05</dc:date></item>`),
		"published, updated":  `<feed><entry><updated>2024-03-06</updated><published>2024-03-05</published></entry></feed>`,
		"German":              rssOf(`<item><pubDate>Di, 05 Mär 2024 10:20:00 +0100</pubDate></item>`),
		"Japanese":            rssOf(`<item><pubDate>2024年3月5日 10:20</pubDate></item>`),
		"Unix seconds":        rssOf(`<item><pubDate>1709634000</pubDate></item>`),
		"dots":                rssOf(`<item><pubDate>05.03.2024 10:20</pubDate></item>`),
		"only updated":        `<feed><entry><updated>2024-03-05</updated></entry></feed>`,
		"json":                `{"items":[{"id":"1","date_modified":"2024-03-05"}]}`,
	} {
		f, err := Parse([]byte(in), Options{})
		if err != nil || len(f.Items) != 1 {
			t.Fatalf("%s: %v", name, err)
		}
		if got := f.Items[0].Date.Format(time.DateOnly); got != "2024-03-05" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestLimits(t *testing.T) {
	f, err := Parse([]byte(rssOf(strings.Repeat("<item><link>http://h/</link></item>", 12))), Options{MaxItems: 5, ZeroItem: true})
	if err != nil || len(f.Items) != 6 || !f.Cut {
		t.Errorf("%v, %d entries, cut %v", err, len(f.Items), f.Cut)
	}
	f, err = Parse([]byte(rssOf("<item/>")), Options{MaxItems: 1})
	if err != nil || len(f.Items) != 1 || f.Cut {
		t.Errorf("exactly MaxItems: %v, %d entries, cut %v", err, len(f.Items), f.Cut)
	}
	f, err = parseXMLWithin([]byte(rssOf(strings.Repeat("<item>"+strings.Repeat("<a/>", 9)+"</item>", 20))), Options{MaxItems: 50}, 40)
	if err != nil || len(f.Items) != 4 || !f.Cut {
		t.Errorf("many nodes: %v, %d entries, cut %v", err, len(f.Items), f.Cut)
	}
	huge := rssOf("<item><link>http://h/1</link>" + strings.Repeat("<a>x</a>", 2*maxNodes) + "</item><item><link>http://h/2</link></item>")
	f, err = Parse([]byte(huge), Options{})
	if err != nil || urls(f) != "http://h/1 http://h/2" || !f.Cut {
		t.Errorf("huge entry: %v, %q, cut %v", err, urls(f), f.Cut)
	}
}

func TestNoFeed(t *testing.T) {
	for name, in := range map[string]string{
		"empty": "", "text": "hello", "html": "<!DOCTYPE html><html><body><rss><channel/></rss></body></html>",
		"sitemap": `<urlset><url><loc>http://h/</loc></url></urlset>`, "json": `{"a":1}`, "json list": `[1]`, "truncated json": `{`,
		"rdf of another kind": `<rdf:RDF xmlns:foaf="http://xmlns.com/foaf/0.1/"><foaf:Person/></rdf:RDF>`,
	} {
		if _, err := Parse([]byte(in), Options{}); !errors.Is(err, ErrNoFeed) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestKinds(t *testing.T) {
	for name, tt := range map[string]struct {
		contentType, head string
		want              Kind
	}{
		"rss":                    {"text/html", "\ufeff <?xml version='1.0'?><!-- x --><rss>", RSS},
		"atom":                   {"text/xml; charset=utf-8", `<feed xmlns="http://www.w3.org/2005/Atom">`, Atom},
		"atom with a prefix":     {"", `<a:feed>`, Atom},
		"rdf":                    {"", `<rdf:RDF xmlns="http://purl.org/rss/1.0/">`, RSS},
		"utf-16":                 {"", "<\x00r\x00s\x00s\x00>\x00", RSS},
		"json by version":        {"application/json", `{"version": "https://jsonfeed.org/version/1"`, JSON},
		"json of another kind":   {"application/json", `{"title": "x"`, None},
		"markup before the root": {"application/rss+xml", `<b>Warning</b><rss>`, RSS},
		"html served as XML":     {"text/xml", `<html><rss>`, None},
		"text served as feed":    {"application/rss+xml", `hello`, None},
		"sitemap":                {"text/xml", `<urlset>`, None},
	} {
		feed, err := Parse([]byte(tt.head), Options{ContentType: tt.contentType})
		if feed.Kind != tt.want || (err == nil) != (tt.want != None) {
			t.Errorf("%s: %q, %v; want %q", name, feed.Kind, err, tt.want)
		}
	}
}

func TestDocument(t *testing.T) {
	e := Entry{Date: time.Date(2024, 3, 5, 18, 7, 8, 0, time.FixedZone("JST", 9*3600)), Data: json.RawMessage(`{"title":"a<b"}`)}
	got, err := e.Document("m1", "http://h/?a&b", "m2")
	want := `{"entry":{"title":"a<b"},"urlMd5":"m1","pubdate":"2024-03-05 09:07:08","parent_rss_feed":"http://h/?a&b","parent_rss_feed_urlMd5":"m2"}`
	if err != nil || string(got) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
	}
	got, err = Entry{}.Document("m1", "u", "m2")
	want = `{"entry":{},"urlMd5":"m1","pubdate":null,"parent_rss_feed":"u","parent_rss_feed_urlMd5":"m2"}`
	if err != nil || string(got) != want {
		t.Errorf("empty: %v %s", err, got)
	}
}

func FuzzFeed(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.*"))
	if err != nil || len(files) == 0 {
		f.Fatal("testdata has no feeds: ", err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body, true)
	}
	f.Add([]byte(rssOf(`<item><link>x</link></item>`)), false)
	f.Add([]byte(`{"items":[{"id":1}]}`), false)
	f.Fuzz(func(t *testing.T, body []byte, standard bool) {
		got, err := Parse(body, Options{Standard: standard, ZeroItem: true, MaxItems: 50})
		if err != nil {
			return
		}
		if len(got.Items) > 51 {
			t.Fatalf("%d entries", len(got.Items))
		}
		for _, e := range got.Items {
			if doc, err := e.Document("a", "b", "c"); err != nil || !json.Valid(doc) {
				t.Fatalf("document: %v %s", err, doc)
			}
			if len(e.Data) == 0 {
				t.Fatal("entry without data")
			}
		}
	})
}

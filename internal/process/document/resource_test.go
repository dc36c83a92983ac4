package document_test

import (
	"strings"
	"testing"

	"hce/dc/internal/process/document"
)

// Pages are pages; what programs read is a resource. Each case is a body as servers declare it.
func TestResources(t *testing.T) {
	const (
		html  = "<!doctype html><title>Tides</title><p>The moon pulls the sea."
		css   = "/* sheet */\nbody { margin: 0; color: #333 }\n.a > b { top: 1px }"
		js    = "// start\n'use strict';\nvar moon = 1;"
		xml   = `<?xml version="1.0"?><moon>pulls</moon>`
		rss   = `<?xml version="1.0"?><rss version="2.0"><channel><title>T</title></channel></rss>`
		svg   = `<svg xmlns="http://www.w3.org/2000/svg"><text>moon</text></svg>`
		xhtml = `<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x"><html xmlns="http://www.w3.org/1999/xhtml"><body><p>The moon</p></body></html>`
		prose = "The moon pulls the sea.\nfunction and form: a note; import of goods {see below}.\n"
		png   = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
		// A picture after its bytes were taken for windows-1252.
		wasPNG = "‰PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	)
	for _, c := range []struct {
		name, kind, url, body string
		want                  bool
	}{
		{"style sheet", "text/css", "/a.css", css, true},
		{"style sheet with parameters", "text/css; charset=utf-8", "/a", css, true},
		{"script", "text/javascript", "/a.js", js, true},
		{"script, the other type", "application/javascript", "/a.js", js, true},
		{"script, an old type", "application/x-javascript", "/a", js, true},
		{"script without known statements", "text/javascript", "/a.js", "a", true},
		{"JSON", "application/json", "/a", `{"moon":1}`, true},
		{"JSON, an old type", "text/json", "/a", `{"moon":1}`, true},
		{"JSON-LD", "application/ld+json", "/a", `{"@id":1}`, true},
		{"JSON Feed", "application/feed+json", "/a", `{"version":"https://jsonfeed.org/version/1.1"}`, true},
		{"manifest", "application/manifest+json", "/a", `{"name":"x"}`, true},
		{"source map", "application/json", "/a.js.map", `{"version":3}`, true},
		{"XML", "application/xml", "/a", xml, true},
		{"XML as text", "text/xml", "/a", xml, true},
		{"feed", "application/rss+xml", "/a", rss, true},
		{"picture in XML", "image/svg+xml", "/a.svg", svg, true},
		{"style sheet of XML", "text/xsl", "/a.xsl", xml, true},

		{"page", "text/html", "/", html, false},
		{"XHTML", "application/xhtml+xml", "/", xhtml, false},
		{"XHTML as XML", "text/xml", "/", xhtml, false},
		{"plain text", "text/plain", "/a.txt", prose, false},
		{"plain text without a type", "", "/a", prose, false},
		{"Markdown", "text/markdown", "/a.md", "# Tides\n\nvar moon = 1;", false},
		{"CSV", "text/csv", "/a.csv", "a,b\n1,2\n", false},
		{"source text as a page of text", "text/plain", "/a.go", "package main\n\nvar moon = 1\n", false},
		{"JSON as a page of text", "text/plain", "/api/moon", `{"moon":1}`, false},
		{"PDF", "application/pdf", "/a.pdf", "%PDF-1.4\n", false},
		{"PDF as JSON", "application/json", "/a.pdf", "%PDF-1.4\n", false},
		{"DOCX as HTML", "text/html", "/a.docx", "PK\x03\x04", false},
		{"picture, which has its own bit", "image/png", "/a.png", png, false},
		{"picture as binary data, too", "application/octet-stream", "/a", png, false},

		{"script as HTML", "text/html", "/a.js", js, true},
		{"minified script as HTML", "text/html", "/a", `!function(e,t){"object"==typeof exports?t(exports):t(e.x={})}(this,function(e){});`, true},
		{"bundle as HTML", "text/html", "/a", `(self.webpackChunk=self.webpackChunk||[]).push([[1],{}]);`, true},
		{"arrow function as HTML", "text/html", "/a", `(()=>{"use strict";var e={}})();`, true},
		{"module as HTML", "text/html", "/a", "import { a } from './b.js';\nexport default a;", true},
		{"jQuery as HTML", "text/html", "/a", `$(function(){ $("p").html("<p>moon</p>") })`, true},
		{"JSONP as HTML", "text/html", "/a", `callback({"moon": "pulls"});`, true},
		{"style sheet as HTML", "text/html", "/a", css, true},
		{"rules as HTML", "text/html", "/a", "@media print { p { margin: 0 } }", true},
		{"JSON as HTML", "text/html; charset=utf-8", "/a", ` [{"moon":"<p>pulls</p>"}]`, true},
		{"feed as HTML", "text/html", "/a", rss, true},
		{"picture as HTML", "text/html", "/a.png", png, true},
		{"decoded picture as HTML", "text/html", "/a.png", wasPNG, true},
		{"text as HTML", "text/html", "/a", prose, false},
		{"fragment as HTML", "text/html", "/a", "Tides\n<p>The moon pulls the sea.</p>", false},
		{"noise before a page", "text/html", "/a", "var x = 1;\n" + html, false},
		{"a page that begins with a brace", "text/html", "/a", "{{ header }}<p>The moon</p>", false},
		{"a page that begins with a comment", "text/html", "/a", "<!-- var a = 1; -->" + html, false},
		{"empty HTML", "text/html", "/a", " \n", false},

		{"script as text", "text/plain", "/a.js?v=1", js, true},
		{"script without a type", "", "https://site.example/a.mjs", js, true},
		{"style sheet as text", "text/plain", "/a.css", css, true},
		{"source map as binary data", "application/octet-stream", "/a.js.map", `{"version":3}`, true},
		{"text with the name of a script", "text/plain", "/about.js", prose, false},
		{"page with the name of a script", "text/plain", "/a.js", html, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := document.IsResource(c.kind, c.url, []byte(c.body)); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// Sitemaps and feeds are no pages, even as the URL where a site begins.
func TestListings(t *testing.T) {
	for body, want := range map[string]bool{
		`<?xml version="1.0"?><urlset xmlns="x"><url/></urlset>`:          true,
		"\xEF\xBB\xBF\n<!-- a - b -->\n<sitemapindex>":                    true,
		`<?xml version="1.0"?><?xml-stylesheet href="x"?><rss version=2>`: true,
		`<feed xmlns="http://www.w3.org/2005/Atom">`:                      true,
		`<rdf:RDF xmlns="http://purl.org/rss/1.0/">`:                      true,
		`<atom:feed>`: true,
		`{"version": "https://jsonfeed.org/version/1.1", "items": []}`: true,
		`{"version": 1}`:                     false,
		`<html><body><rss>`:                  false,
		`<!doctype html><p>a <feed> of fish`: false,
		`<feedback>text</feedback>`:          false,
		`<root/>`:                            false,
		``:                                   false,
		`<svg xmlns="http://www.w3.org/2000/svg"><rect/></svg>`: false,
	} {
		if got := document.IsListing([]byte(body)); got != want {
			t.Errorf("%v: %s", got, body)
		}
	}
}

// The look at a body is linear, whatever it is.
func FuzzIsResource(f *testing.F) {
	for _, body := range []string{"var a=", strings.Repeat("/*", 50), strings.Repeat("a{", 500), "{\"a\":[", "$(" + strings.Repeat("[", 300), "<svg"} {
		f.Add("text/html", body)
		f.Add("", body)
	}
	f.Fuzz(func(t *testing.T, kind, body string) { document.IsResource(kind, "/a.js", []byte(body)) })
}

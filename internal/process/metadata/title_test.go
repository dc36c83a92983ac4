package metadata_test

import (
	"strings"
	"testing"

	"hce/dc/internal/process/metadata"
	"hce/dc/internal/process/outline"
	"hce/dc/internal/web/htmltree"
)

// page is a page with its metadata and its outline.
type page struct {
	doc     htmltree.Doc
	outline outline.Outline
	head    metadata.Head
}

func read(text, url string) *page {
	p := &page{}
	p.doc.Parse([]byte(text))
	p.head.Read(&p.doc, url)
	p.outline.Read(&p.doc)
	p.head.FindTitle(&p.outline)
	return p
}

const pageURL = "https://www.harbour-post.example/news/1.html"

func TestPageTitle(t *testing.T) {
	prose := "<p>" + strings.Repeat("The ferry leaves the quay at noon, and the wind is fair. ", 5)
	for _, c := range []struct{ name, head, body, want string }{
		{"site behind a bar", "<title>Ferry sails | The Harbour Post</title>", "", "Ferry sails"},
		{"site before a colon", "<title>Harbour Post: Ferry sails</title>", "", "Ferry sails"},
		{"site of OpenGraph", "<title>Ferry sails - Quay &amp; Co</title><meta property=og:site_name content='Quay & Co'>", "", "Ferry sails"},
		{"site of JSON-LD", `<title>Ferry sails » Tide Table</title><script type="application/ld+json">{"@type":"NewsArticle","publisher":{"@type":"Organization","name":"Tide Table"}}</script>`, "", "Ferry sails"},
		{"site of the home link", "<title>Ferry sails · Slow Boats</title>", "<a href=/>Slow Boats</a>", "Ferry sails"},
		{"site of the logo", "<title>Ferry sails — Slow Boats</title>", "<a href=https://www.harbour-post.example/><img src=l.png alt='Slow Boats'></a>", "Ferry sails"},
		{"site of the copyright line", "<title>Ferry sails | Slow Boats</title>", prose + "<footer>© 2024 Slow Boats Ltd. All rights reserved.</footer>", "Ferry sails"},
		{"site and section", "<title>Ferry sails | Harbour Post | Harbour-Post.example</title>", "", "Ferry sails"},
		{"a part that is not the site", "<title>Ferry - a history in letters</title>", "", "Ferry - a history in letters"},
		{"a hyphen in a word", "<title>Well-known ferry</title>", "", "Well-known ferry"},
		{"only the site", "<title>Harbour Post</title>", "", "Harbour Post"},
		{"home", "<title>Home | Harbour Post</title>", "", "Harbour Post"},
		{"title as the name of the site", "<title>Ferry sails | News</title><meta property=og:site_name content='Ferry sails'><meta property=og:title content='Ferry sails'>", "", "Ferry sails"},
		{"heading that is the title", "<title>Ferry sails at noon - Tides</title>", "<h1>Ferry sails at noon</h1>" + prose, "Ferry sails at noon"},
		{"name of the site as h1", "<title>A chain is a promise – Slow Bicycle</title>", "<h1><a href=/>Slow Bicycle</a></h1><h2>A chain is a promise</h2>" + prose, "A chain is a promise"},
		{"name of the book as h1", "<title>What is a quay? - The Harbour Book</title>", "<h1>The Harbour Book</h1><main><h2>What is a quay?</h2>" + prose + "</main>", "What is a quay?"},
		{"heading of two lines", "<title>Ferry sails at noon - Tides</title>", "<h1>Ferry sails<br>at noon</h1>" + prose, "Ferry sails at noon"},
		{"note before the heading", "", "<h3>Note</h3><p>Read this.</p><h2>Ferry sails</h2>" + prose, "Ferry sails"},
		{"contents and search", "", "<nav><h2>Pages</h2></nav><h2>Contents</h2><h2>Suche</h2><h2>Ferry sails</h2>" + prose, "Ferry sails"},
		{"cookie box", "<title>Ferry sails</title>", "<h1>We value your privacy</h1><p>Cookies.</p>" + prose, "Ferry sails"},
		{"warning as h1", "<title>5.1. Quays</title>", "<h1>Warning</h1>" + prose, "5.1. Quays"},
		{"slogan of a landing page", "<title>Ferry tickets online | Harbour Post</title><meta property=og:type content=website>", "<h1>Your day at sea</h1>" + prose, "Ferry tickets online"},
		{"an h1 of an article with another title", "<title>Ferries at noon</title><meta property=og:type content=article>", "<h1>The boats sail early</h1>" + prose, "The boats sail early"},
		{"the site in the heading, too", "<title>Ferry sails | Harbour Post - Harbour Post</title>", "<h1>Ferry sails | Harbour Post</h1>" + prose, "Ferry sails"},
		{"a button in the heading", "<title>Ferry in quay - Boats</title>", "<h1>Struct <a href=#>Ferry</a> <button>Copy item path</button></h1>" + prose, "Struct Ferry"},
		{"a heading that is a button", "<title>Ferry in quay - Boats</title>", "<h1><button>Ferry</button></h1>" + prose, "Ferry"},
		{"a text as h1", `<title>The ten best ferries</title><script type="application/ld+json">{"@type":"Article","headline":"The ten best ferries"}</script>`,
			"<h1>" + strings.Repeat("All that you have to know about boats. ", 5) + "</h1>" + prose, "The ten best ferries"},
		{"title of a picture", "<svg><title>Arrow</title></svg>", "<h1>Ferry sails</h1>", "Ferry sails"},
		{"nothing", "", "<p>x", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := read(c.head+"<body>"+c.body, pageURL)
			if got := p.head.PageTitle(&p.outline); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

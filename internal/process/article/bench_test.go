package article

import (
	"fmt"
	"strings"
	"testing"
)

// page20k returns a news page of about 20 KB: menu, article, aside, footer, scripts.
func page20k(n int) []byte {
	words := strings.Fields("The council of the old harbour town has agreed on a plan for its market hall after years of talks " +
		"with traders residents and the region which will pay for most of the work that begins in spring while the stalls move " +
		"to the quay where a tent of wood and glass was built last summer by students of the school of design")
	sentence := func(i, length int) string {
		var b strings.Builder
		for j := range length {
			if j > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(words[(i*7+j*j+n)%len(words)])
		}
		return b.String() + ". "
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<!DOCTYPE html><html lang="en-GB"><head><meta charset="utf-8"><title>Market hall %d | The Harbour Post</title>
<meta name="description" content="A plan for the market hall."><meta property="og:site_name" content="The Harbour Post">
<meta name="author" content="Ann Example"><meta property="article:published_time" content="2024-03-05T08:30:00+01:00">
<link rel="canonical" href="/news/%d.html"><script type="application/ld+json">{"@type":"NewsArticle","headline":"Market hall %d"}</script>
<style>.a{color:red}</style></head><body class="page"><header><nav class="menu"><ul>`, n, n, n)
	for i := range 40 {
		fmt.Fprintf(&b, `<li class="menu-item"><a class="nav-link" href="/section/%d/">Section %d</a></li>`, i, i)
	}
	fmt.Fprintf(&b, `</ul></nav></header><main><article class="post-content"><h1>Market hall %d</h1><p class="byline">By Ann Example</p>`, n)
	for i := range 24 {
		fmt.Fprintf(&b, `<p>%s%s<a href="/topic/%d?ref=a">%s</a> %s<em>note</em></p>`, sentence(i, 25), sentence(i+1, 18), i, words[i], sentence(i+2, 30))
		if i%6 == 5 {
			fmt.Fprintf(&b, `<h2>Part %d</h2><figure><img src="/img/%d.jpg" alt="A view"><figcaption>A view</figcaption></figure><ul><li>%s</li><li>%s</li></ul>`, i, i, sentence(i, 9), sentence(i+3, 8))
		}
	}
	b.WriteString(`<table><tr><th>Year</th><th>Cost</th></tr><tr><td>2023</td><td>4</td></tr></table></article></main><aside class="sidebar"><h3>More</h3><ul>`)
	for i := range 20 {
		fmt.Fprintf(&b, `<li><a href="/news/%d.html">%s</a></li>`, i+100, sentence(i, 6))
	}
	b.WriteString(`</ul></aside><footer class="footer"><p>All rights reserved 2024</p></footer><script>var x = "<p>no text</p>";</script></body></html>`)
	return []byte(b.String())
}

func BenchmarkExtract(b *testing.B) {
	text := page20k(1)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Extract(text, "https://post.example/news/1.html"); err != nil {
			b.Fatal(err)
		}
	}
}

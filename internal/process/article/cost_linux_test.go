package article

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cost returns the processor time that Extract takes for a page of about size bytes: unit,
// repeated. It is the least of some runs.
func cost(before, unit, after string, size, runs int) time.Duration {
	page := []byte(before + strings.Repeat(unit, size/len(unit)) + after)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	least := time.Hour
	for range runs {
		start := spent()
		_, _ = Extract(page, pageURL)
		least = min(least, spent()-start)
	}
	return least
}

// spent returns the processor time of this thread.
func spent() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_THREAD, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// The cost of a page grows with its size, not with the square of it.
func FuzzCost(f *testing.F) {
	words := "<title>T</title><article><p>" + strings.Repeat("Words of an article that goes on. ", 20)
	for _, unit := range []string{
		"[", "![", "](", "*", "_a", "`a", "- ", "=\n", "1. ", "\a-", "&#91;", "<br>-", "<p>x", "<b>x</b>y", "<a href=x>x</a>", "<li><p>x",
		"<table><tr><td>x</table>", "2021-03-05 ", "<blockquote>x", "<h2>x</h2>", "<pre>x</pre>", "<form>", "<!--[if a]>", "<!--[if a", "<!--[if a]><head>",
	} {
		f.Add(words, unit, "")
	}
	f.Add(`<script type="application/ld+json">`, `"datePublished" : "`, "</script>")
	f.Add("<title>"+strings.Repeat("long title ", 1000)+"</title>", "<h1>long title", "")
	f.Add(words, "<div class=ad>x", "")
	f.Add(words, "<div class=author>x", "")
	f.Add(words, "x<br>", "")
	f.Add(words, "<table><tr><td>x<td>y", "")
	f.Add(`<script type="application/ld+json">{"@type":"Article","articleBody":"`+strings.Repeat("Words of an article that goes on. ", 300)+`"}</script>`, "<p>Words of an article that goes on.", "")
	f.Add("<meta name=author content='", "Ann Bell; ", "'>")
	f.Fuzz(func(t *testing.T, before, unit, after string) {
		if unit == "" || len(unit) > 1<<10 || len(before)+len(after) > 16<<10 {
			return
		}
		const size = 16 << 10
		if cost(before, unit, after, 4*size, 1) < 100*time.Millisecond {
			return
		}
		small, large := cost(before, unit, after, size, 3), cost(before, unit, after, 4*size, 3)
		if large > 100*time.Millisecond && large > 10*small {
			t.Errorf("%d bytes of %q take %v, four times as much take %v", size, unit, small, large)
		}
	})
}

// BenchmarkGrowth reports the processor time of a byte for pages of 10 kB to 10 MB, and "ratio", the dearest to the cheapest.
func BenchmarkGrowth(b *testing.B) {
	unit := string(page20k(1))
	start := strings.Index(unit, "<p class=")
	unit = unit[start:strings.Index(unit, "</article>")]
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for b.Loop() {
		least, most := 1e9, 0.0
		for _, size := range []int{10_000, 100_000, 1_000_000, 10_000_000} {
			page := []byte("<title>T</title><article><h1>T</h1>" + strings.Repeat(unit, size/len(unit)+1))[:size]
			runs := max(2, 20_000_000/size)
			start := spent()
			for range runs {
				_, _ = Extract(page, pageURL)
			}
			perByte := float64(spent()-start) / float64(runs*size)
			b.ReportMetric(perByte, fmt.Sprintf("ns/byte_%d_kB", size/1000))
			least, most = min(least, perByte), max(most, perByte)
		}
		b.ReportMetric(most/least, "ratio")
	}
}

// hostileShapes cost an engine more than their size, if it is not linear: depth, attributes, unclosed tags, tables, entities,
// formulas and others.
var hostileShapes = []string{
	"<div>", "<p>x", "<b>x", "<i></p>", "<a href=x>x", "<ul><li>x", "<dl><dt>x<dd>y", "<blockquote>x", "<table><tr><td>x", "<table>", "<td>x", "<tr>", "<caption>x",
	"<pre>x", "<pre>x</pre>", "<code>`x</code> ", "<h2>x</h2>", "<section id=x><h2>x</h2>", "<details><summary>x", "<figure><figcaption>x", "<p class='a b c d e f g h'>x", "<p a b c d e f g h>x",
	"&amp;", "&nGt;", "&#x41;", "[", "](", "*x", "_x_ ", "`", "x<br>", "x<br><br>", "<sup>1</sup>", "<math><mi>x</mi></math>", "<span class=katex><annotation encoding=application/x-tex>x</annotation></span>",
	"<img alt=x>", "<select><option>x", "<script>x</script>", "<script type=application/ld+json>{\"@type\":\"Article\",\"author\":\"x\"}</script>", "<meta name=author content=x>",
	"<time datetime=2024-01-01>x</time>", "<svg><g>", "<template><p>x", "<noscript><p>x</noscript>", "<ruby>x<rt>y</rt></ruby>", "<form><input>", "<nav><a href=x>x</a></nav>", "<div hidden>x</div>", "<!--[if a]>x", "<!--[if a", "<!--[if a]><head>x", "<!--[if a]>x-->",
}

// BenchmarkShapes reports for each hostile shape how the processor time grows from 1 to 2 and to 4 MB: linear is 2 and 4.
func BenchmarkShapes(b *testing.B) {
	for _, unit := range hostileShapes {
		b.Run(unit, func(b *testing.B) {
			for b.Loop() {
				one := cost("<title>T</title><article>", unit, "", 1<<20, 2)
				b.ReportMetric(float64(one.Milliseconds()), "ms_1_MB")
				b.ReportMetric(float64(cost("<title>T</title><article>", unit, "", 2<<20, 2))/float64(one), "x2")
				b.ReportMetric(float64(cost("<title>T</title><article>", unit, "", 4<<20, 1))/float64(one), "x4")
			}
		})
	}
}

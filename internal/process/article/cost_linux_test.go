package article

import (
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
	spent := func() time.Duration {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_THREAD, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
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

// The cost of a page grows with its size, not with the square of it.
func FuzzCost(f *testing.F) {
	words := "<title>T</title><article><p>" + strings.Repeat("Words of an article that goes on. ", 20)
	for _, unit := range []string{
		"[", "![", "](", "*", "_a", "`a", "- ", "=\n", "1. ", "\a-", "&#91;", "<br>-", "<p>x", "<b>x</b>y", "<a href=x>x</a>", "<li><p>x",
		"<table><tr><td>x</table>", "2021-03-05 ", "<blockquote>x", "<h2>x</h2>", "<pre>x</pre>", "<form>",
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

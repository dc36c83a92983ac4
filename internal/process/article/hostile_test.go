package article

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// The text of pages whose tree would need a gigabyte is extracted in bounded memory.
func TestPagesThatGrowWhenParsed(t *testing.T) {
	var tags strings.Builder
	for i := range 400 {
		fmt.Fprintf(&tags, "<b a%d>", i)
	}
	for name, text := range map[string]string{
		"opened again":      "<title>T</title><p>words" + tags.String() + strings.Repeat("<p>x", 20_000),
		"closed and opened": "<title>T</title><p>words" + tags.String() + strings.Repeat("</p><p>x", 20_000),
		"in tables":         "<title>T</title><p>words" + tags.String() + strings.Repeat("<table><tr><td>x</table>", 10_000),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			a, _ := Extract([]byte(text), "http://example.test/")
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > 300<<20 {
				t.Errorf("%d MiB for %d KB", took>>20, len(text)>>10)
			} else {
				t.Logf("%d MiB for %d KB", took>>20, len(text)>>10)
			}
			if !strings.Contains(a.Text, "words") {
				t.Errorf("text %.80q", a.Text)
			}
		})
	}
}

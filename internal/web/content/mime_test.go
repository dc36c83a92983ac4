package content

import (
	"strings"
	"testing"
)

const (
	png  = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	jpeg = "\xff\xd8\xff\xe0\x00\x10JFIF\x00"
	pdf  = "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"
	gif  = "GIF89a\x01\x00\x01\x00"
	zip  = "PK\x03\x04\x14\x00\x00\x00\x08\x00"
	page = "<!DOCTYPE html><html><body>x</body></html>"
	rss  = `<?xml version="1.0"?><!-- made by hand --><rss version="2.0"><channel/></rss>`
	atom = "\xEF\xBB\xBF  <feed xmlns=\"http://www.w3.org/2005/Atom\"></feed>"
)

func TestSniff(t *testing.T) {
	tests := []struct{ name, declared, body, want string }{
		{"plain", "text/html", page, "text/html"},
		{"parameters and case", " Text/HTML ; Charset=utf-8", page, "text/html"},
		{"last of two", "text/html, application/json", "{}", "application/json"},
		{"last valid type of two", "text/html, */*", page, "text/html"},
		{"comma in quotes", `text/html; charset="a,b/c"`, page, "text/html"},
		{"unterminated quote", `text/html; charset="a, image/png`, page, "text/html"},
		{"missing", "", page, "text/html"},
		{"missing, png", "", png, "image/png"},
		{"missing, text", "", "just words", "text/plain"},
		{"missing, binary", "", "\x00\x01\x02\x03", "application/octet-stream"},
		{"missing, empty body", "", "", "text/plain"},
		{"missing, latin text", "", "caf\xe9 au lait", "text/plain"},
		{"unknown", "application/unknown", pdf, "application/pdf"},
		{"wildcard", "*/*", gif, "image/gif"},
		{"unknown/unknown", "unknown/unknown; charset=x", rss, "application/rss+xml"},
		{"no slash", "html", page, "text/html"},
		{"only a charset", "UTF-8", page, "text/html"},
		{"two slashes", "text/html/5", page, "text/html"},
		{"value repeats the header name", "Content-Type: text/html", page, "text/html"},
		{"control bytes", "text/\x00html", page, "text/html"},
		{"too long", "text/" + strings.Repeat("x", 100000), png, "image/png"},
		{"text never becomes html", "text/plain", page, "text/plain"},
		{"text with nul never becomes html", "text/plain", page + "\x00", "application/octet-stream"},
		{"text with an image body", "text/plain", png, "image/png"},
		{"text with Apache's old default charset", "text/plain; charset=ISO-8859-1", zip, "application/zip"},
		{"text with Apache's new default charset", "text/plain; charset=UTF-8", jpeg, "image/jpeg"},
		{"text with another charset", "text/plain; charset=koi8-r", png, "text/plain"},
		{"text in utf-16", "text/plain", "\xff\xfea\x00b\x00", "text/plain"},
		{"text is kept", "text/plain", "GIF of a cat, in words", "text/plain"},
		{"xml is kept", "application/vnd.x+xml", page, "application/vnd.x+xml"},
		{"text/xml is kept", "text/xml", rss, "text/xml"},
		{"html with an rss body", "text/html", rss, "application/rss+xml"},
		{"html with an atom body", "text/html", atom, "application/atom+xml"},
		{"html with an rss 1.0 body", "text/html", `<rdf:RDF xmlns="http://purl.org/rss/1.0/">`, "application/rdf+xml"},
		{"html with other rdf", "text/html", `<rdf:RDF xmlns="http://example.com/">`, "text/html"},
		{"html about rss", "text/html", "<p>&lt;rss><rss>", "text/html"},
		{"html with a pdf body", "text/html", pdf, "application/pdf"},
		{"html with an archive", "text/html; charset=utf-8", zip, "application/zip"},
		{"html about pdf", "text/html", " %PDF-1.7", "text/html"},
		{"image of another type", "image/jpeg", png, "image/png"},
		{"image with an html body", "image/jpeg", page, "image/jpeg"},
		{"octet-stream is kept", "application/octet-stream", page, "application/octet-stream"},
		{"json", "application/json; charset=utf-8", "{}", "application/json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Sniff(tt.declared, []byte(tt.body)); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestDetect(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"html by an element", "  <title>x</title>", "text/html"},
		{"html in capitals", "<HTML>", "text/html"},
		{"html after a comment", "<!-- hello --> <p>x", "text/html"},
		{"xhtml", `<?xml version="1.0"?><!DOCTYPE html PUBLIC "x"><html xmlns="x">`, "text/html"},
		{"xml", `<?xml version="1.0"?><a/>`, "text/xml"},
		{"xml with a doctype", `<?xml version="1.0"?><!DOCTYPE note><note/>`, "text/xml"},
		{"sitemap", `<urlset><url/></urlset>`, "text/xml"},
		{"svg", `<svg xmlns="http://www.w3.org/2000/svg"/>`, "image/svg+xml"},
		{"rss after a doctype", `<!DOCTYPE rss><rss/>`, "application/rss+xml"},
		{"json", `{"a": 1}`, "application/json"},
		{"pdf", pdf, "application/pdf"},
		{"less-than sign without markup", "< 5", "text/plain"},
		{"unterminated comment", "<!-- " + strings.Repeat("x", 10000), "text/html"},
		{"unterminated instruction", "<?php " + strings.Repeat("x", 10000), "text/x-php"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Detect([]byte(tt.body)); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestTypeFamilies(t *testing.T) {
	tests := []struct {
		kind                      string
		text, html, xml, isBinary bool
	}{
		{"text/html", true, true, false, false},
		{"application/xhtml+xml", true, true, true, false},
		{"text/plain", true, false, false, false},
		{"text/xml", true, false, true, false},
		{"application/xml", false, false, true, false},
		{"application/rss+xml", false, false, true, false},
		{"application/json", false, false, false, false},
		{"application/ld+json", false, false, false, false},
		{"application/x-javascript", false, false, false, false},
		{"image/svg+xml", false, false, true, false},
		{"image/png", false, false, false, true},
		{"application/pdf", false, false, false, true},
		{"application/octet-stream", false, false, false, true},
		{"message/rfc822", false, false, false, false},
	}
	for _, tt := range tests {
		got := [4]bool{IsText(tt.kind), IsHTML(tt.kind), IsXML(tt.kind), IsBinary(tt.kind)}
		if want := [4]bool{tt.text, tt.html, tt.xml, tt.isBinary}; got != want {
			t.Errorf("%s: text, HTML, XML, binary = %v, want %v", tt.kind, got, want)
		}
	}
}

// FuzzSniff checks that the result is always one valid type, and that text/plain never
// becomes HTML or XML.
func FuzzSniff(f *testing.F) {
	for _, s := range []string{page, rss, atom, png, pdf, "", "<!--", "<?xml", "<!doctype", "<rdf:rdf ", "a,b\nc,d\n"} {
		f.Add("", []byte(s))
		f.Add("text/plain", []byte(s))
		f.Add(`text/html; charset="x, image/*`, []byte(s))
	}
	f.Fuzz(func(t *testing.T, declared string, body []byte) {
		for _, kind := range []string{Sniff(declared, body), Detect(body)} {
			if !validType(kind) || kind != strings.ToLower(kind) {
				t.Fatalf("%q", kind)
			}
		}
		if kind := Sniff("text/plain", body); IsHTML(kind) || IsXML(kind) {
			t.Fatalf("text became %s", kind)
		}
	})
}

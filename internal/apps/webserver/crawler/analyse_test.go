package crawler

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/apps/webserver/packet"
)

// The page of section 5: title, meta elements in any case, a link and an image.
const example = `<html><head>
<title> Página de sistemas </title>
<META name="keywords" content="Operativos, SO, ejemplo, so"/>
<meta content="Una página
 de ejemplo" NAME="Description">
<meta name="description" content="the second does not count">
</head><body>
Texto <a href="http://otro.example:8080/b.html">link</a> <a href="c.html">own</a> <a href="mailto:x@y">m</a>
<img src="//fotos.example/logo_utn.gif"> <a href="http://OTRO.example:8080/d.html">again</a>
<script src="http://script.example/x.js"></script> <link href="http://style.example/x.css">
</body></html>`

func TestPage(t *testing.T) {
	d, hosts, ok := analysePage(packet.Document{URL: "http://a.example/index.html"}, []byte(example), true)
	if !ok || d.Kind != packet.Page || d.Title != "Página de sistemas" || d.Description != "Una página de ejemplo" || d.HTML != example {
		t.Errorf("%+v", d)
	}
	if want := []string{"operativos", "so", "ejemplo"}; !slices.Equal(d.Words, want) {
		t.Errorf("%q", d.Words)
	}
	if want := []string{"otro.example:8080", "a.example", "fotos.example"}; !slices.Equal(hosts, want) {
		t.Errorf("%q", hosts)
	}
}

func TestOddPages(t *testing.T) {
	for name, c := range map[string]struct {
		body, want string // title, description, words, hosts
	}{
		"empty":        {"", "||[]|[]"},
		"latin 1":      {"<meta charset=iso-8859-1><title>a\xf1o</title><meta name=keywords content='ma\xf1ana'>", "año||[mañana]|[]"},
		"base":         {"<base href='http://b.example/x/'><a href=y>", "||[]|[b.example]"},
		"meta in body": {"<body><meta name=description content=d>", "|d|[]|[]"},
		"no content":   {"<meta name=keywords><meta name=description>", "||[]|[]"},
		"deep":         {strings.Repeat("<div>", 5000) + "<meta name=keywords content=x>", "||[]|[]"},
		"bad links":    {"<a href='http://[::1'><a href='http://x:99999/'><a href='javascript:1'><img src='data:,x'>", "||[]|[]"},
		"hyphen":       {"<meta name=keywords content='e-mail; a_b  c'>", "||[e-mail a_b c]|[]"},
		"comment":      {"<!-- <title>no</title><a href=http://c.example/> --><title>yes</title>", "yes||[]|[]"},
		"image map":    {"<area href=http://map.example/><iframe src=http://frame.example/>", "||[]|[]"},
	} {
		t.Run(name, func(t *testing.T) {
			d, hosts, ok := analysePage(packet.Document{URL: "http://a.example/"}, []byte(c.body), true)
			if got := fmt.Sprintf("%s|%s|%v|%v", d.Title, d.Description, d.Words, hosts); !ok || got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestFileNames(t *testing.T) {
	for name, want := range map[string]string{
		"foto_vacas.jpg": "[foto vacas] jpg", "sub/utn_logo.GIF": "[utn logo] gif", "operating_system_7th_ed-silberschatz.pdf": "[operating system 7th ed silberschatz] pdf",
		"README": "[readme] ", "a.tar.gz": "[a tar] gz", "___.x": "[] x", "ñandú_ñandú.png": "[ñandú] png", "a_A.b": "[a] b", "x.": "[x] ", "\xff_a.b": "[a] b",
		"a." + strings.Repeat("x", 99): "[a] " + strings.Repeat("x", 30), strings.Repeat("y", 200) + ".z": "[" + strings.Repeat("y", 100) + "] z",
	} {
		d := analyseFile(packet.Document{URL: "http://a.example/x"}, name)
		if got := fmt.Sprintf("%v %s", d.Words, d.Extension); got != want || d.Kind != packet.File {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

func TestAddresses(t *testing.T) {
	for name, want := range map[string]string{
		"a.html": "http://a.example:8080/a.html", "sub/ñ b.gif": "http://a.example:8080/sub/%C3%B1%20b.gif", "a?b#c%20": "http://a.example:8080/a%3Fb%23c%2520", "\xff": "http://a.example:8080/%FF",
	} {
		if got, err := fileURL("http://a.example:8080/", name); got != want || err != nil {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

// Whatever a page contains, its packet is valid.
func FuzzPage(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("<meta name=keywords content='\x00\xff a'><title>\xed\xa0\x80"))
	f.Fuzz(func(t *testing.T, body []byte) {
		d, hosts, ok := analysePage(packet.Document{URL: "http://a.example/"}, body, true)
		if !ok {
			return
		}
		if frame, err := packet.Encode(d); err != nil {
			t.Fatal(err)
		} else if _, err := packet.Decode(frame); err != nil {
			t.Fatal(err)
		}
		for _, h := range hosts {
			if h == "" {
				t.Fatal("a host without a name")
			}
		}
	})
}

package loosexml

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// write returns the tokens of text in one line.
func write(text string, alone ...string) string {
	var b strings.Builder
	r := NewReader([]byte(text), alone...)
	for t, ok := r.Next(); ok; t, ok = r.Next() {
		switch t.Kind {
		case Start:
			b.WriteString("(" + t.Name)
			for _, a := range t.Attrs {
				fmt.Fprintf(&b, " %s=%q", a.Name, a.Value)
			}
			b.WriteString("|")
		case End:
			b.WriteString(")")
			if t.Cut {
				b.WriteString("!")
			}
		case Text:
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func TestReader(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"plain":                 {`<a x="1"><b>t</b></a>`, `(a x="1"|(b|t))`},
		"declaration":           {`<?xml version="1.1" encoding="koi8-r"?><a/>`, `(a|)`},
		"comment":               {`<a><!-- <b> --></a>`, `(a|)`},
		"unclosed":              {`<a><b>t`, `(a|(b|t)!)!`},
		"truncated tag":         {`<a><b>t</b><c x="1`, `(a|(b|t)(c x="1"|)!)!`},
		"truncated end tag":     {`<a><b>t</b`, `(a|(b|t))!`},
		"wrong end tag":         {`<a><b>t</c></b></a>`, `(a|(b|t))`},
		"early end tag":         {`<a><b>t</a>u`, `(a|(b|t))u`},
		"end tag in other case": {`<Link>t</link>`, `(Link|t)`},
		"entities":              {`<a>&lt;&amp;&nbsp;&eacute;&#65;&#x42;&bomb;</a>`, "(a|<&\u00a0éAB&bomb;)"},
		"unterminated entity":   {`<a>?x=1&copy=2&amp;b&ampersand;</a>`, `(a|?x=1&copy=2&b&ampersand;)`},
		"bare ampersand":        {`<a>R&D & more; than</a>`, `(a|R&D & more; than)`},
		"control characters":    {"<a>1\x00\x01\x1f&#8;&#0;2</a>", "(a|12)"},
		"cdata":                 {`<a><![CDATA[<b> & &amp; < ]]></a>`, `(a|<b> & &amp; < )`},
		"unterminated cdata":    {`<a><![CDATA[x`, `(a|x)!`},
		"less than":             {`<a>1 < 2 <3 <</a>`, `(a|1 < 2 <3 <)`},
		"attributes":            {`<a x='1' y=2 z x="3" q="a &amp; b < c"/>`, `(a x="1" y="2" z="" q="a & b < c"|)`},
		"document type": {`<!DOCTYPE r [<!ENTITY e "<x>"><!ENTITY f "&e;&e;">]><r>&f;</r>`,
			`(r|&f;)`},
		"no nesting":         {`<c><i>1<i>2</i><i><t>3<i>4</c>`, `(c|(i|1)(i|2)(i|(t|3))(i|4))`},
		"no nesting, prefix": {`<c><i><x:i>1</x:i></i></c>`, `(c|(i|(x:i|1)))`},
		"no markup":          {`hello`, `hello`},
		"empty":              {``, ``},
		"bad names":          {`<a"b><é/></a"b>`, `(é|)`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := write(tt.in, "i"); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestDepthIsBounded(t *testing.T) {
	deep := strings.Repeat("<p>", 5000)
	got := write("<c><i>"+deep+"x</i><i>2</i></c>", "i")
	open := MaxDepth - 2
	if want := "(c|(i|" + strings.Repeat("(p|", open) + "x" + strings.Repeat(")", open) + ")(i|2))"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	closed := "<c>" + deep + strings.Repeat("</p>", 5000) + "<i/></c>"
	if got := write(closed); !strings.HasSuffix(got, ")(i|))") {
		t.Errorf("wrong depth after the end tags: %s", got[len(got)-20:])
	}
}

func TestUTF8(t *testing.T) {
	for name, tt := range map[string]struct{ in, contentType, want string }{
		"utf-8":                      {"<a>é</a>", "", "<a>é</a>"},
		"mark":                       {"\ufeff<a/>", "", "<a/>"},
		"wrong declaration":          {`<?xml encoding="windows-1251"?><a>дом</a>`, "", `<?xml encoding="windows-1251"?><a>дом</a>`},
		"wrong header":               {"<a>дом, дом</a>", "text/xml; charset=iso-8859-1", "<a>дом, дом</a>"},
		"charset of the declaration": {"<?xml version=\"1.0\" encoding=\"windows-1251\"?><a>\xe4\xee\xec</a>", "", `<?xml version="1.0" encoding="windows-1251"?><a>дом</a>`},
		"charset of the header":      {"<a>\xe4\xee\xec</a>", "text/xml; charset=windows-1251", "<a>дом</a>"},
		"utf-16le":                   {"\xff\xfe<\x00a\x00/\x00>\x00", "", "<a/>"},
		"utf-16le without mark":      {"<\x00a\x00/\x00>\x00", "", "<a/>"},
		"utf-16be without mark":      {"\x00<\x00a\x00/\x00>", "", "<a/>"},
		"truncated character":        {"<?xml encoding=\"windows-1251\"?><a>дом, дом, \xd0", "", "<?xml encoding=\"windows-1251\"?><a>дом, дом, \xd0"},
		"empty":                      {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			before := bytes.Clone([]byte(tt.in))
			in := []byte(tt.in)
			if got := string(UTF8(in, tt.contentType)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if !bytes.Equal(in, before) {
				t.Error("the body was changed")
			}
		})
	}
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{`<a x="1"><i>t<i/></a>`, `<![CDATA[`, `<!DOCTYPE [`, "<?x", "&#xD800;&", "<a\x00='"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := NewReader(UTF8(body, ""), "i")
		depth := 0
		for tok, ok := r.Next(); ok; tok, ok = r.Next() {
			switch tok.Kind {
			case Start:
				depth++
			case End:
				depth--
			}
			if want := depth + map[Kind]int{End: 1}[tok.Kind]; tok.Depth != want || depth > MaxDepth || depth < 0 {
				t.Fatalf("depth %d, token says %d", depth, tok.Depth)
			}
			if s := tok.Name + tok.Text; !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
				t.Fatalf("invalid text %q", s)
			}
		}
		if depth != 0 {
			t.Fatalf("%d elements are not closed", depth)
		}
	})
}

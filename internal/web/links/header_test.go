package links

import (
	"strings"
	"testing"
)

func TestHeader(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []string
		want   string // URL|rel, separated by spaces
	}{
		{"no header", nil, ""},
		{"one", []string{`<https://a.example/2>; rel="next"`}, "https://a.example/2|next"},
		{"unquoted, upper case", []string{`</2>;REL=Next`}, "/2|next"},
		{"without rel", []string{`</2>`}, "/2|"},
		{"several links in one value", []string{`</1>; rel=prev, </2>; rel="next" ,</3>`}, "/1|prev /2|next /3|"},
		{"several headers", []string{`</1>`, `</2>`, `</1>; rel=x`}, "/1| /2|"},
		{"commas and semicolons in the URL", []string{`</a,b;c=d>; rel=next, </e>`}, "/a,b;c=d|next /e|"},
		{"commas and brackets in quotes", []string{`</1>; title="a, <b>; \"c\""; rel="x", </2>`}, "/1|x /2|"},
		{"first rel counts", []string{`</1>; rel=a; rel=b`}, "/1|a"},
		{"several rels", []string{`</1>; rel="prefetch  Next"`}, "/1|prefetch  next"},
		{"other parameters ignored", []string{`</1>; rel=x; anchor="#foo"; crossorigin, </2>`}, "/1|x /2|"},
		{"blanks", []string{"\t </1 > ; rel = \"x\" ;; , , </2>"}, "/1|x /2|"},
		{"pure connection hints", []string{`<https://c>; rel=preconnect, <//d>; rel="dns-prefetch preconnect", </e>; rel="preconnect next"`}, "/e|preconnect next"},
		{"invalid value", []string{`nonsense, </1>`, `</2>`}, "/2|"},
		{"invalid text before the comma", []string{`</1> x="y" z, </2>`}, "/1| /2|"},
		{"unterminated", []string{`</1`, `</2>; rel="x`, `</3>; rel`}, "/2|x /3|"},
		{"not fetchable", []string{`<>, <#a>, <javascript:x>, <mailto:x@y>`}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, l := range Header(c.values) {
				if l.Tag != "header" || l.Attr != "link" {
					t.Errorf("%+v", l)
				}
				got = append(got, l.URL+"|"+l.Rel)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	many := strings.Repeat("</x>,", 20000)
	Header([]string{many, many})
	var list []string
	for range 3000 {
		list = append(list, "</"+strings.Repeat("y", len(list)%1000)+"z>")
	}
	if n := len(Header(list)); n == 0 || n > maxHeaderLinks {
		t.Errorf("%d links", n)
	}
}

func FuzzHeader(f *testing.F) {
	f.Add(`</a,b>; rel="next \"x\""; title*=UTF-8'de'x, <c>;;rel=y`)
	f.Add(`<`)
	f.Fuzz(func(t *testing.T, value string) {
		for _, l := range Header([]string{value, value}) {
			if l.URL == "" || len(l.URL) > maxURL || deadSchemes[schemeOf(l.URL)] {
				t.Errorf("link %+v", l)
			}
		}
	})
}

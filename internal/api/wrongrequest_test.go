package api

import (
	"fmt"
	"slices"
	"strings"
)

// makeWrong changes a request in one place.
func (g *requests) makeWrong(r *randomRequest) {
	if r.body != nil && g.IntN(4) > 0 {
		if g.IntN(3) == 0 {
			g.changeText(r)
		} else {
			g.changeBody(r)
		}
		return
	}
	if len(r.operation.Parameters) == 0 || g.IntN(6) == 0 {
		g.changeHead(r)
		return
	}
	p := r.operation.Parameters[g.IntN(len(r.operation.Parameters))]
	r.change = p.In + " " + p.Name
	wrong := g.wrongText(p.Schema)
	switch p.In {
	case "path":
		r.values[p.Name] = wrong
	case "header":
		r.header.Set(p.Name, sendable(wrong))
	case "query":
		switch g.IntN(8) {
		case 0:
			r.query.Add(p.Name, g.newText(p.Schema, p.Name))
		case 1:
			r.query.Del(p.Name)
		case 2:
			r.query.Set(p.Name, `a\raw`+g.choose("zz", "", "0", "00", `c3\raw28`, "ff", "u0041"))
		default:
			r.query.Set(p.Name, wrong)
		}
	}
}

// sendable is a text that clients send in a header.
func sendable(text string) string {
	text = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return -1
		}
		return c
	}, text)
	return text[:min(len(text), 8000)]
}

// changeHead changes the headers, the method or the names in the query.
func (g *requests) changeHead(r *randomRequest) {
	r.change = "head"
	switch g.IntN(5) {
	case 0:
		r.method = g.choose("GET", "PUT", "POST", "PATCH", "OPTIONS", "TRACE", "BREW")
	case 1:
		r.header.Set("Accept", g.choose("text/html", "application/cbor", "*/*;q=0", ";;;", "application/json;q=x"))
	case 2:
		r.header.Set("Content-Type", g.choose("text/plain", "application/xml", "multipart/form-data", "application/json; charset=utf-16", ";", "a/b/c"))
	case 3:
		r.query.Set(g.choose("lmit", "", "a b", "\x00", "$filter", "_"), "1")
		r.change = "unknown parameter"
	default:
		r.path = g.choose("/v1", "//v1/sites", "/v1/sites/", "/v1/../v1/sites", "/v2/sites", "/v1/sites/coast/pages/x/y/z", "/V1/SITES", "/") + g.choose("", r.path)
	}
}

// wrongText is a value that a parameter or a property should not have.
func (g *requests) wrongText(s *schema) string {
	s = g.resolve(s)
	if s.Maximum != nil && g.IntN(2) == 0 {
		return g.choose(fmt.Sprintf("%.0f", *s.Maximum+1), fmt.Sprintf("%.0f", *s.Minimum-1))
	}
	if s.MaxLength != nil && g.IntN(4) == 0 {
		return strings.Repeat(g.choose("a", "ü", "'"), *s.MaxLength+1)
	}
	return g.choose("", "a", "0", "-1", "1.5", "1e999", "9223372036854775808", "99999999999999999999999999", "NaN", "0x10", "true", "null", "[]", "{}", "\x00", "a\x00b", "\x01\x1f\x7f", "\r\nX: y", "\"", "'", `\`,
		"' OR 1=1 --", "%", "%00", "%2e%2e%2f", "../../etc/passwd", "a/b", "\xff\xfe", "\xed\xa0\x80", "\u202e", ",", ",,,", " ", "--help", "-c", "*", "http://", "http://[::1", "file:///etc/passwd", "http://10.1.2.3/", "http://127.0.0.1:1/",
		"http://127.0.0.1:99999/", "http://a:b@127.0.0.1/", g.choose(g.pages...)+"%zz", g.choose(g.pages...)+"\x00", g.choose(g.pages...)+"'", strings.Repeat("9", 400), strings.Repeat("a", 3000), strings.Repeat("[", 2000))
}

// place is a value of a body.
type place struct {
	name   string
	schema *schema
	value  any
	set    func(any)
	holder map[string]any // of the property; nil: an item or the whole
}

// placesOf lists all values of a body.
func (g *requests) placesOf(p place) []place {
	list := []place{p}
	switch v := p.value.(type) {
	case map[string]any:
		s := g.resolve(p.schema)
		for name, one := range v {
			property := s.Properties[name]
			if property == nil {
				property = s.others
			}
			list = append(list, g.placesOf(place{p.name + "." + name, property, one, func(x any) { v[name] = x }, v})...)
		}
	case []any:
		for i, one := range v[:min(len(v), 3)] {
			list = append(list, g.placesOf(place{fmt.Sprintf("%s[%d]", p.name, i), g.resolve(p.schema).Items, one, func(x any) { v[i] = x }, nil})...)
		}
	}
	return list
}

// changeBody changes one value of the body.
func (g *requests) changeBody(r *randomRequest) {
	all := g.placesOf(place{"body", r.operation.RequestBody.Content["application/json"].Schema, r.body, func(x any) { r.body = x }, nil})
	slices.SortFunc(all, func(a, b place) int { return strings.Compare(a.name, b.name) })
	p := all[g.IntN(len(all))]
	r.change = p.name
	s := g.resolve(p.schema)
	if object, is := p.value.(map[string]any); is && g.IntN(2) == 0 {
		if g.IntN(2) == 0 && len(s.Required) > 0 {
			delete(object, s.Required[0])
		} else {
			object[g.choose("unknown", "", "__proto__", "\x00", "$ref", "URL", strings.Repeat("n", 5000))] = g.newValue(&schema{}, "", 0)
		}
		return
	}
	if list, is := p.value.([]any); is && s.MaxItems != nil && g.IntN(3) == 0 {
		for len(list) <= *s.MaxItems {
			list = append(list, g.newValue(s.Items, "", 2))
		}
		p.set(list)
		return
	}
	if g.IntN(3) == 0 {
		p.set(g.wrongText(s))
		return
	}
	const mark = "value of the change"
	p.set(mark)
	r.raw[mark] = g.choose("null", "true", "0", "-1", "1.5", "1e400", "-0", "9223372036854775808", "1E+2", "[]", "{}", "[null]", `{"":{}}`, `"\u0000"`, `"\ud800"`, `"\udc00\ud800"`, "\"\xff\"", "\"\x01\"", `"a\"b"`, "01", "NaN", "",
		"1"+strings.Repeat("0", 5000), `"`+strings.Repeat("a", 100_000)+`"`, strings.Repeat("[", 9000)+strings.Repeat("]", 9000), strings.Repeat(`{"a":`, 11000)+"1"+strings.Repeat("}", 11000),
		`{"type":"object","properties":`+strings.Repeat(`{"a":{"properties":`, 500)+"{}"+strings.Repeat("}}", 500)+"}", `{"fields":`+strings.Repeat(`{"a":{"css":"p","fields":`, 500)+"{}"+strings.Repeat("}}", 500)+"}")
}

// changeText changes the text of the body.
func (g *requests) changeText(r *randomRequest) {
	text := r.content()
	r.change = "text of the body"
	r.text = [...]string{
		text[:g.IntN(len(text))], text + "x", text + text, "\xef\xbb\xbf" + text, "[" + text + "]", strings.Replace(text, "{", `{"url":"http://127.0.0.1:1/","url":1,`, 1), strings.Replace(text, "{", "{,", 1),
		strings.Repeat(" ", 1<<20) + text, strings.Repeat("[", 500_000), strings.Repeat(`{"roots":`, 20_000), "null", "true", "1", `"x"`, "[]", "\x00", "<a/>", strings.ReplaceAll(text, ":", " : \n\t"), strings.ToUpper(text),
		strings.Replace(text, "{", `{"`+strings.Repeat("m", 500_000)+`":1,`, 1),
	}[g.IntN(20)]
}

package cycle

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/apps/ose/folder"
)

// Links are those that the project's scanner finds.
func TestLinks(t *testing.T) {
	const url = "http://a.example/dir/page"
	head := "HTTP/1.1 200 \r\nContent-Type: text/html; charset=utf-8\r\n"
	for name, c := range map[string]struct {
		code             int
		data             string
		valid, malformed string
	}{
		"quotes":             {200, head + "\r\n<a href=x>1<A HREF='y'>2<a\nid=1 href = \"z?a=1&amp;b=2\">3", "http://a.example/dir/x http://a.example/dir/y http://a.example/dir/z?a=1&b=2", ""},
		"a host of one word": {200, head + "\r\n<a href=http://host/>", "http://host/", ""},
		"fragment":           {200, head + "\r\n<a href=#top><a href=page#x>", url, ""},
		"twice":              {200, head + "\r\n<a href=x><a href=./x#y><a href=tel:1><area href=tel:1>", "http://a.example/dir/x", "tel:1"},
		"other elements":     {200, head + "\r\n<img src=x><script src=y></script><form action=z></form><iframe src=i>", "", ""},
		"no HTML":            {200, "HTTP/1.1 200 \r\nContent-Type: text/plain\r\n\r\n<a href=x>", "", ""},
		"no type":            {200, "HTTP/1.1 200 \r\n\r\n<!doctype html><a href=x>", "http://a.example/dir/x", ""},
		"nofollow":           {200, head + "X-Robots-Tag: nofollow\r\n\r\n<a href=x>", "", ""},
		"of another":         {200, head + "X-Robots-Tag: otherbot: nofollow\r\n\r\n<a href=x>", "http://a.example/dir/x", ""},
		"redirect":           {302, "HTTP/1.1 302 \r\nLocation: ../x\r\n\r\n", "http://a.example/x", ""},
		"bad redirect":       {302, "HTTP/1.1 302 \r\nLocation: data:x\r\n\r\n", "", "data:x"},
		"error":              {404, head + "\r\n<a href=x>", "", ""},
		"no head":            {200, "<a href=x>", "", ""},
		"empty":              {0, "", "", ""},
	} {
		valid, malformed := Links(url, c.code, []byte(c.data))
		if strings.Join(valid, " ") != c.valid || strings.Join(malformed, " ") != c.malformed {
			t.Errorf("%s: %q, %q", name, valid, malformed)
		}
	}
}

func FuzzLinks(f *testing.F) {
	f.Add(200, []byte("HTTP/1.1 200 \r\nContent-Type: text/html\r\n\r\n<base href=//b><a href=x>\x00<a href='\\\n'>"))
	f.Fuzz(func(t *testing.T, code int, data []byte) {
		valid, malformed := Links("http://a.example/dir/page", code, data)
		dir := &folder.Folder{Dir: t.TempDir()}
		b := dir.NewBatch()
		if err := errors.Join(b.Write(folder.LinksName(1), folder.AppendLinks(nil, valid)), b.Write(folder.MalformedName(1), folder.AppendMalformed(nil, malformed))); err != nil {
			t.Fatal(err)
		}
		var got, wrong []string
		err := errors.Join(dir.Links(1, func(s string) error { got = append(got, s); return nil }), dir.Malformed(1, func(s string) error { wrong = append(wrong, s); return nil }))
		if err != nil || !slices.Equal(got, valid) || !slices.Equal(wrong, malformed) {
			t.Errorf("%q %q: %q %q, %v", valid, malformed, got, wrong, err)
		}
	})
}

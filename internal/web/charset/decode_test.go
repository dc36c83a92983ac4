package charset

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
)

const (
	russian  = "Съешь ещё этих мягких французских булок, да выпей же чаю. "
	japanese = "日本語のページです。これは試験です。ひらがなとカタカナ。"
	chinese  = "中文网页的内容，这是一个测试页面。我们喜欢阅读网页。"
	german   = "Größe und Übermut tun selten gut, sagt der müde Bär. "
)

// encode returns text in the named charset.
func encode(t testing.TB, charset, text string) []byte {
	t.Helper()
	enc, err := htmlindex.Get(charset)
	if err != nil {
		t.Fatal(err)
	}
	body, err := enc.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatalf("%s cannot hold the sample: %v", charset, err)
	}
	return body
}

func TestDecode(t *testing.T) {
	page := func(head, text string) string {
		return "<html><head>" + head + "</head><body><p>" + strings.Repeat(text, 3) + "</p></body></html>"
	}
	cases := []struct {
		name        string
		encoded     string // charset of the bytes
		text        string
		contentType string
		charset     string
		err         error
	}{
		{"header", "windows-1251", page("", russian), "text/html; charset=windows-1251", "windows-1251", nil},
		{"header alias win-1251", "windows-1251", page("", russian), "text/html; charset=win-1251", "windows-1251", nil},
		{"quoted header with a list", "koi8-r", page("", russian), `text/html; charset="KOI8-R, utf-8"`, "koi8-r", nil},
		{"header that package mime rejects", "koi8-r", page("", russian), "text/html; charset = koi8-r; ;=", "koi8-r", nil},
		{"meta charset", "shift_jis", page(`<META charset=x-sjis>`, japanese), "text/html", "shift_jis", nil},
		{"meta pragma", "gb18030", page(`<meta content='text/html; charset = "gb2312"' http-equiv="Content-Type">`, chinese), "", "gbk", nil},
		{"meta content without http-equiv is ignored", "windows-1252", page(`<meta name=x content="charset=koi8-r">`, german), "", "windows-1252", nil},
		{"meta in a comment is ignored", "windows-1251", page(`<!-- <meta charset=koi8-r> --><meta charset=cp1251>`, russian), "", "windows-1251", nil},
		{"meta utf-16 means utf-8", "utf-8", page(`<meta charset=utf-16>`, "plain words "), "", "utf-8", nil},
		{"xml declaration", "windows-1251", `<?xml version="1.0" encoding='windows-1251'?><rss><title>` + russian + `</title></rss>`, "text/xml", "windows-1251", nil},
		{"utf-16 declaration without a mark", "utf-16be", `<?xml version="1.0"?><a>` + russian + `</a>`, "application/xml", "utf-16be", nil},
		{"utf-16 page without mark or label", "utf-16le", page("", "plain words "), "", "utf-16le", nil},
		{"guess russian", "windows-1251", page("", russian), "text/html", "windows-1251", nil},
		{"guess japanese", "shift_jis", page("", japanese), "text/html", "shift_jis", nil},
		{"guess seven-bit japanese", "iso-2022-jp", page("", japanese), "", "iso-2022-jp", nil},
		{"guess chinese", "gbk", page("", chinese), "", "gbk", nil},
		{"guess german", "windows-1252", page("", german), "", "windows-1252", nil},
		{"no label, utf-8", "utf-8", page("", russian), "", "utf-8", nil},
		{"label windows-1251 on utf-8 bytes", "utf-8", page(`<meta charset=windows-1251>`, russian), "text/html", "utf-8", nil},
		{"header and meta differ, header wins", "windows-1251", page(`<meta charset=koi8-r>`, russian), "text/html; charset=cp1251", "windows-1251", nil},
		{"unknown label, then meta", "koi8-r", page(`<meta charset=koi8-r>`, russian), "text/html; charset=martian", "koi8-r", ErrUnknownLabel},
		{"unknown label, then guess", "windows-1251", page("", russian), "text/html; charset=martian", "windows-1251", ErrUnknownLabel},
		{"label of the replacement encoding", "utf-8", page("", russian), "text/html; charset=hz-gb-2312", "utf-8", ErrUnknownLabel},
		{"late meta", "koi8-r", page("<!--"+strings.Repeat(" ", 3000)+"--><meta charset=koi8-r>", russian), "text/html", "koi8-r", nil},
		{"latin-1 means windows-1252", "windows-1252", page("", german), "text/html; charset=iso-8859-1", "windows-1252", nil},
		{"utf8 without dash", "utf-8", page("", russian), "text/html; charset=utf8", "utf-8", nil},
		{"label windows-1252 on utf-8 bytes", "utf-8", page("", german+german+german), "text/html; charset=windows-1252", "utf-8", nil},
		{"meta x-user-defined", "windows-1252", page("<meta charset=x-user-defined>", german), "text/html", "windows-1252", nil},
		{"ascii keeps its label", "windows-1251", page("", "plain words "), "text/html; charset=windows-1251", "windows-1251", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			text, charset, err := Decode(encode(t, c.encoded, c.text), c.contentType)
			if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Errorf("error = %v, want %v", err, c.err)
			}
			if charset != c.charset {
				t.Errorf("charset = %q, want %q", charset, c.charset)
			}
			if string(text) != c.text {
				t.Errorf("text = %.80q, want %.80q", text, c.text)
			}
		})
	}
}

func TestDecodeMarks(t *testing.T) {
	cases := []struct{ name, mark, encoded, charset string }{
		{"utf-8", "\xEF\xBB\xBF", "utf-8", "utf-8"},
		{"utf-16 little", "\xFF\xFE", "utf-16le", "utf-16le"},
		{"utf-16 big", "\xFE\xFF", "utf-16be", "utf-16be"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			body := append([]byte(c.mark), encode(t, c.encoded, russian)...)
			text, charset, err := Decode(body, "text/html; charset=koi8-r")
			if string(text) != russian || charset != c.charset || err != nil {
				t.Errorf("got %.40q, %q, %v", text, charset, err)
			}
		})
	}
}

func TestDecodeMalformed(t *testing.T) {
	cases := []struct {
		name, body, contentType, charset, want string
	}{
		{"windows-1251 that is declared as UTF-8", "<meta charset=utf-8>\xc6\xe8 a", "text/html", "utf-8", "<meta charset=utf-8>\uFFFD\uFFFD a"},
		{"the same in the header", "\xc6\xe8 a", "text/html; charset=utf-8", "utf-8", "\uFFFD\uFFFD a"},
		{"truncated rune", russian + "\xD0", "text/html; charset=utf-8", "utf-8", russian + "\uFFFD"},
		{"truncated rune without label", russian + "\xD0", "", "utf-8", russian + "\uFFFD"},
		{"stray bytes", russian + "\xFF\xFE" + russian, "", "utf-8", russian + "\uFFFD\uFFFD" + russian},
		{"cut characters", "a\xE2\x82\xF0\x9F\x98b", "text/html; charset=utf-8", "utf-8", "a\uFFFD\uFFFDb"},
		{"utf-16 of odd length", "\xFF\xFEa\x00b", "", "utf-16le", "a\uFFFD"},
		{"truncated shift_jis character", "\x93\xFA\x96", "text/plain; charset=shift_jis", "shift_jis", "日\uFFFD"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			text, charset, err := Decode([]byte(c.body), c.contentType)
			if !errors.Is(err, ErrMalformed) || charset != c.charset || string(text) != c.want {
				t.Errorf("got %q, %q, %v; want %q, %q", text, charset, err, c.want, c.charset)
			}
		})
	}
}

func TestDecodeCopiesNothing(t *testing.T) {
	for name, contentType := range map[string]string{"labelled": "text/html; charset=utf-8", "unlabelled": "", "mislabelled": "text/html; charset=cp1251"} {
		t.Run(name, func(t *testing.T) {
			body := []byte(strings.Repeat(russian, 10))
			text, _, err := Decode(body, contentType)
			if err != nil || &text[0] != &body[0] {
				t.Errorf("the text is a copy (err %v)", err)
			}
		})
	}
	if text, charset, err := Decode(nil, ""); len(text) != 0 || charset != "utf-8" || err != nil {
		t.Errorf("empty body: %q, %q, %v", text, charset, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(russian), "text/html; charset=utf-8")
	f.Add(encode(f, "windows-1251", russian), "text/html; charset=win-1251")
	f.Add(encode(f, "iso-2022-jp", japanese), "")
	f.Add([]byte("\xFF\xFE\x00"), "")
	f.Add([]byte("<?xml encoding='\x00"), "text/xml;charset")
	f.Add([]byte("<meta charset=\"utf-16\x00\xC0\xAF"), `;charset="`)
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		text, charset, err := Decode(body, contentType)
		if !utf8.Valid(text) {
			t.Errorf("invalid UTF-8 from %q as %s", body, charset)
		}
		if len(text) > 3*len(body)+3 {
			t.Errorf("%d bytes became %d in %s", len(body), len(text), charset)
		}
		if charset == "" {
			t.Error("no charset name")
		}
		if err == nil && charset == "utf-8" && len(text) > len(body) {
			t.Errorf("text grew without a warning: %q", body)
		}
		if bytes.HasPrefix(text, []byte("\uFFFD")) && err == nil && !bytes.Contains(body, []byte("\uFFFD")) && charset == "utf-8" {
			t.Errorf("replacement without a warning: %q", body)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for name, body := range map[string][]byte{
		"utf-8":        []byte("<meta charset=utf-8>" + strings.Repeat(russian, 200)),
		"windows-1251": append([]byte("<meta charset=cp1251>"), encode(b, "windows-1251", strings.Repeat(russian, 350))...),
		"guess":        encode(b, "windows-1251", strings.Repeat(russian, 350)),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				Decode(body, "text/html")
			}
		})
	}
}

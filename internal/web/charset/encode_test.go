package charset

import (
	"bytes"
	"testing"
)

func TestEncodeIsTheReverseOfDecode(t *testing.T) {
	for _, c := range []struct{ name, declared, body string }{
		{"Cyrillic", "text/html; charset=windows-1251", "\xcf\xf0\xe8\xe2\xe5\xf2"},
		{"Japanese", "text/html; charset=Shift_JIS", "\x93\xfa\x96\x7b\x8c\xea"},
		{"Japanese with escapes", "text/html; charset=iso-2022-jp", "\x1b$BF|K\\8l\x1b(B"},
		{"Chinese", "text/html; charset=gbk", "\xd6\xd0\xce\xc4"},
		{"UTF-8", "text/html; charset=utf-8", "é"},
		{"UTF-8 with a mark", "text/html", "\xEF\xBB\xBFé"},
		{"UTF-16 with a mark", "text/html", "\xFF\xFEa\x00\xe9\x00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, name, err := Decode([]byte(c.body), c.declared)
			if err != nil {
				t.Fatal(err)
			}
			for _, body := range Encode(text, name) {
				if string(body) == c.body {
					return
				}
			}
			t.Errorf("%q in %s gives %q", text, name, Encode(text, name))
		})
	}
	if Encode([]byte("日"), "windows-1252") != nil || Encode([]byte("a"), "unknown") != nil {
		t.Error("a text that the charset does not have, or an unknown charset, is encoded")
	}
}

func TestDeclareUTF8(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"short form", `<meta charset="windows-1251"><p>x`, `<meta charset="utf-8"><p>x`},
		{"without quotation marks", `<META CHARSET=koi8-r>`, `<META CHARSET=utf-8>`},
		{"long form", `<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS">`, `<meta http-equiv="Content-Type" content="text/html; charset=utf-8">`},
		{"XML declaration", `<?xml version="1.0" encoding="euc-jp"?><meta charset='euc-jp'/>`, `<?xml version="1.0" encoding="utf-8"?><meta charset='utf-8'/>`},
		{"is UTF-8", `<meta charset="UTF-8">`, `<meta charset="UTF-8">`},
		{"none", `<p>charset=koi8-r`, `<p>charset=koi8-r`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := DeclareUTF8([]byte(c.in)); !bytes.Equal(got, []byte(c.want)) {
				t.Errorf("%s", got)
			}
		})
	}
}

package charset

import "testing"

func TestEncodeQuery(t *testing.T) {
	for _, c := range []struct{ name, charset, url, want string }{
		{"cyrillic", "windows-1251", "/p/Привет?q=Привет&x=1", "/p/Привет?q=%CF%F0%E8%E2%E5%F2&x=1"},
		{"fragment", "windows-1251", "/p?q=Ж#Ж", "/p?q=%C6#Ж"},
		{"no query", "windows-1251", "/Ж#Ж?", "/Ж#Ж?"},
		{"utf-8", "utf-8", "/p?q=Ж", "/p?q=Ж"},
		{"utf-16", "utf-16le", "/p?q=Ж", "/p?q=Ж"},
		{"unknown", "martian", "/p?q=Ж", "/p?q=Ж"},
		{"encoded before", "windows-1251", "/p?q=%D0%96", "/p?q=%D0%96"},
		{"latin", "iso-8859-1", "/p?q=é ü", "/p?q=%E9 %FC"},
		{"not in the charset", "windows-1252", "/p?q=éЖ", "/p?q=%E9%26%231046%3B"},
		{"japanese, bytes of ASCII", "shift_jis", "/p?q=表", "/p?q=%95%5C"},
		{"japanese, escapes", "iso-2022-jp", "/p?q=日", "/p?q=%1B%24BF%7C%1B%28B"},
		{"chinese", "gbk", "/p?q=中文&a=b", "/p?q=%D6%D0%CE%C4&a=b"},
		{"korean", "euc-kr", "/p?q=한", "/p?q=%C7%D1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := EncodeQuery(c.url, c.charset); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

package author

import "testing"

func TestNames(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"name", "Ann Bell", "Ann Bell"},
		{"two names", "Ann Bell; Cy Dor", "Ann Bell; Cy Dor"},
		{"two names of a credit", "By Ann Bell and Cy Dor", "Ann Bell and Cy Dor"},
		{"credit", "By Ann Bell", "Ann Bell"},
		{"posted by", "Posted by Ann Bell on March 5, 2021", "Ann Bell"},
		{"written by, with a colon", "Written by: Ann Bell", "Ann Bell"},
		{"german credit", "Von Karla Öst", "Karla Öst"},
		{"part of a name", "von der Heide", "von der Heide"},
		{"japanese credit", "著者：山田花子", "山田花子"},
		{"japanese name", "文月悠光", "文月悠光"},
		{"russian credit", "Автор: Анна Белова", "Анна Белова"},
		{"date after the name", "Ann Bell | 5 min read", "Ann Bell"},
		{"account", "@annbell", "annbell"},
		{"month", "May", ""},
		{"month as a given name", "May Bell", "May Bell"},
		{"date", "5 May 2021", ""},
		{"date of another order", "May 5, 2021", ""},
		{"weekday", "Montag", ""},
		{"role", "Admin", ""},
		{"credited role", "Posted by admin", ""},
		{"desk", "Staff Writer", ""},
		{"address of a page", "https://site.example/authors/ann", ""},
		{"host", "www.site.example", ""},
		{"mail address", "ann@site.example", ""},
		{"sentence", "This is a long sentence about the person that wrote the text", ""},
		{"number", "12345", ""},
		{"markup", "<b>Ann</b>", ""},
		{"blank", " ", ""},
		{"twice", "Ann Bell;Ann Bell", "Ann Bell"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Names([]string{c.text}); got != c.want {
				t.Errorf("%q: %q, want %q", c.text, got, c.want)
			}
			if Plausible(c.text) != (c.want != "") {
				t.Errorf("%q: plausible is %v", c.text, Plausible(c.text))
			}
		})
	}
}

func TestCredited(t *testing.T) {
	for text, want := range map[string]string{
		"By Ann Bell": "Ann Bell", "Von Karla Öst": "Karla Öst", "Posted by admin": "", "Ann Bell": "", "von der Heide": "", "": "",
	} {
		if got := Credited(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

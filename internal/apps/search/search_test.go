package search

import "testing"

func TestUUIDOf(t *testing.T) {
	// The example of RFC 9562 has the name space DNS; this value was computed with Python's uuid5.
	const want = "fcde3c85-2270-590f-9e7c-ee003d65e0e2"
	got := UUIDOf("http://www.example.com/")
	if !ValidUUID(got) || got != UUIDOf("http://www.example.com/") || got == UUIDOf("http://www.example.com/a") {
		t.Errorf("got %s", got)
	}
	if got[14] != '5' || got[19] != '8' && got[19] != '9' && got[19] != 'a' && got[19] != 'b' {
		t.Errorf("%s is not of version 5", got)
	}
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, bad := range []string{"", "x", want[:35], want + "0", "FCDE3C85-2270-590f-9e7c-ee003d65e0e2", "../../../../../../../../etc/passwd00"} {
		if ValidUUID(bad) {
			t.Errorf("%q is valid", bad)
		}
	}
}

func TestKindOf(t *testing.T) {
	for text, want := range map[string]Kind{
		"text/html; charset=utf-8": Pages, "application/xhtml+xml": Pages, "TEXT/HTML": Pages,
		"image/png": Images, "application/pdf": Documents, "text/plain": Documents, "": Documents,
	} {
		if got := KindOf(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

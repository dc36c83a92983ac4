package canonical

import "testing"

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		text string
		want URL
		name string // host without port
	}{
		{"http://h.test/", URL{Scheme: "http", Host: "h.test", Path: "/"}, "h.test"},
		{"https://u:p@h.test:8080/a/b?c=d?e", URL{Scheme: "https", User: "u:p", Host: "h.test:8080", Path: "/a/b", Query: "c=d?e"}, "h.test"},
		{"http://h.test/100%-sure", URL{Scheme: "http", Host: "h.test", Path: "/100%-sure"}, "h.test"},
		{"http://h.test/x%zz/%2F?q=%", URL{Scheme: "http", Host: "h.test", Path: "/x%zz/%2F", Query: "q=%"}, "h.test"},
		{"http://[::1]:81/a@b", URL{Scheme: "http", Host: "[::1]:81", Path: "/a@b"}, "::1"},
		{"http://[::1]/", URL{Scheme: "http", Host: "[::1]", Path: "/"}, "::1"},
		{"mailto:a@b.test", URL{Scheme: "mailto", Path: "a@b.test"}, ""},
	} {
		t.Run(c.text, func(t *testing.T) {
			u := Split(c.text)
			if u != c.want || u.Hostname() != c.name || u.String() != c.text {
				t.Errorf("%+v, host %q, text %s", u, u.Hostname(), u)
			}
		})
	}
	if got := Unescape("/100%-%41%zz%2f%"); got != "/100%-A%zz/%" {
		t.Error(got)
	}
}

func TestNet(t *testing.T) {
	for _, c := range []struct{ text, path, want string }{
		{"http://h.test/100%-sure", "/100%-sure", "http://h.test/100%25-sure"},
		{"http://h.test/a%", "/a%", "http://h.test/a%25"},
		{"http://h.test/x%zz%41?q=%", "/x%zzA", "http://h.test/x%25zz%41?q=%"},
		{"a%b#%", "a%b", "a%25b#%25"},
		{"/plain?x", "/plain", "/plain?x"},
	} {
		t.Run(c.text, func(t *testing.T) {
			u, err := Net(c.text)
			if err != nil || u.Path != c.path || u.String() != c.want {
				t.Errorf("%v %v", u, err)
			}
		})
	}
	for _, bad := range []string{"http://%zz/", "http://[::1/", "http://h:x/"} {
		if u, err := Net(bad); err == nil {
			t.Errorf("%s: %v", bad, u)
		}
	}
}

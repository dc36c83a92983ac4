package siteoptions

import (
	"strings"
	"testing"

	"hce/dc/internal/wire"
)

func TestProxyOption(t *testing.T) {
	for _, name := range append(proxyVariables, "no_proxy", "NO_PROXY") {
		t.Setenv(name, "")
	}
	for _, c := range []struct{ typed, variable, want, refused string }{
		{"http://proxy.example:3128", "", "http://proxy.example:3128", ""},
		{"proxy.example:3128", "", "proxy.example:3128", ""},
		{"http://proxy.example/", "", "http://proxy.example:80", ""},
		{"socks5://127.0.0.1:1080", "", "socks5://127.0.0.1:1080", ""},
		{"http://user:secret@proxy.example:3128", "", "http://user:secret@proxy.example:3128", ""},
		{"env", "http://proxy.example:8080/", "http://proxy.example:8080/", ""},
		{"env", "", "", "none of https_proxy"},
		{"proxy.example", "", "", "expected host:port"},
		{"ftp://proxy.example:21", "", "", "unknown type"},
		{"http://user:secret@proxy.example:31x28", "", "", "--proxy has"},
	} {
		t.Setenv("https_proxy", c.variable)
		got, err := Settings{proxy: c.typed}.PropertyMap()
		if c.refused == "" && (err != nil || got["HTTP_PROXY_HOST"] != c.want) {
			t.Errorf("%s: %v, %v", c.typed, got, err)
		}
		if c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: %v", c.typed, err)
		}
	}
	t.Setenv("https_proxy", "http://proxy.example:8080")
	t.Setenv("no_proxy", "localhost")
	if _, err := (Settings{proxy: "env"}).PropertyMap(); err == nil || !strings.Contains(err.Error(), "no_proxy") {
		t.Errorf("no_proxy: %v", err)
	}
}

// A value that cannot be read is refused when it is set, and named for a site that has it. No message shows
// a secret.
func TestBadSettings(t *testing.T) {
	for name, value := range map[string]string{"USER_PROXY": `{"proxies": {"p": {"host": "user:secret@h"}}`, "HTTP_PROXY_PORT": "31x28", "HTTP_HEADERS": "Authorization secret", "PROTOCOLS": "http"} {
		if _, err := (Settings{properties: []string{name + "=" + value}}).PropertyMap(); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
		site := wire.Site{ID: "s", Properties: []wire.SiteProperty{{Name: name, Value: value}}}
		if problems := BadSettings(site); len(problems) != 1 || strings.Contains(problems.Error(), "secret") {
			t.Errorf("%s: %v", name, problems)
		}
	}
	site := wire.Site{ID: "s", Filters: []wire.SiteFilter{{Pattern: "private(", Action: -1, State: 1}, {Pattern: "off(", State: 0}}}
	if problems := BadSettings(site); len(problems) != 1 {
		t.Errorf("filters: %v", problems)
	}
}

func TestDifferencesHideSecrets(t *testing.T) {
	site := wire.Site{ID: "s", Properties: []wire.SiteProperty{{Name: "HTTP_AUTH_PWD", Value: "secret1"}, {Name: "ROBOTS_META", Value: "0"}}}
	object := map[string]any{"properties": map[string]string{"HTTP_AUTH_PWD": "secret2", "ROBOTS_META": "1"}}
	list := strings.Join(Settings{}.ListDifferences(site, object), "; ")
	if strings.Contains(list, "secret") || !strings.Contains(list, `HTTP_AUTH_PWD is (hidden), not (hidden)`) || !strings.Contains(list, `ROBOTS_META is "0", not "1"`) {
		t.Error(list)
	}
}

func TestHeaderOptions(t *testing.T) {
	for _, c := range []struct {
		name, want, refused string
		o                   Settings
	}{
		{"agent", `{"User-Agent":["MyBot/1.0 (+https://a.example/, bot)"]}`, "", Settings{agent: "MyBot/1.0 (+https://a.example/, bot)"}},
		{"headers", `{"Accept-Language":["en, de"],"X-A":["1","2"]}`, "", Settings{headers: []string{"Accept-Language: en, de", "X-A:1", "X-A: 2"}}},
		{"no colon", "", "no colon", Settings{headers: []string{"Accept en"}}},
		{"no name", "", "the header name (hidden), which cannot be sent", Settings{headers: []string{"X Y: 1"}}},
		{"both", "", "use one of them", Settings{agent: "a", properties: []string{"HTTP_HEADERS=A: b"}}},
	} {
		got, err := c.o.PropertyMap()
		if c.refused == "" && (err != nil || got["HTTP_HEADERS"] != c.want) {
			t.Errorf("%s: %q, %v", c.name, got["HTTP_HEADERS"], err)
		}
		if c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

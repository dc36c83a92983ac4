package crawlprogram

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"hce/dc/hostgate"
	"hce/dc/internal/crawl/cookies"
)

// What one node answers to an empty object another one keeps.
func TestKeepPauses(t *testing.T) {
	open := func() (*hostgate.Gates, *cookies.Jars) {
		gates, err := hostgate.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = gates.Close() })
		return gates, cookies.Open(t.TempDir(), cookies.Options{})
	}
	keep := func(gates *hostgate.Gates, jars *cookies.Jars, request string) (pauses, string) {
		t.Helper()
		answer, left, err := keepPauses(t.Context(), gates, jars, json.RawMessage(request))
		if err != nil || left > 0 {
			t.Fatal(left, err)
		}
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		return answer, string(text)
	}
	gates, jars := open()
	pass, err := gates.Acquire(t.Context(), "a.example", 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := pass.Release(time.Hour); err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse("http://a.example/")
	jars.Site("s").SetCookies(u, http.Header{"Set-Cookie": {"session=1"}}, time.Now())
	if err := jars.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, text := keep(gates, jars, `{"hosts":[]}`)

	gates, jars = open()
	if taken, _ := keep(gates, jars, text); len(taken.Hosts)+len(taken.Cookies) > 0 {
		t.Errorf("%+v", taken)
	}
	here, _ := keep(gates, jars, `{}`)
	if len(here.Hosts) != 1 || here.Hosts[0].Host != "a.example" || here.Hosts[0].Wait < 59*time.Minute || len(here.Cookies) != 1 || here.Cookies[0].Site != "s" {
		t.Errorf("%+v", here)
	}
	if line := jars.Site("s").Header(cookies.Property{}, u, cookies.Page, time.Now()); line != "session=1" {
		t.Errorf("cookie %q", line)
	}
}

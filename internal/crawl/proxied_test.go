package crawl_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// TestProxies: pages come through the site's proxy, and the server sees only the proxy.
func TestProxies(t *testing.T) {
	for _, tt := range []struct {
		name       string
		secure     bool
		properties func(*relay) []string
		asked      string // of the proxy
	}{
		{"http through http", false, func(p *relay) []string { return []string{"USER_PROXY", pool(0, p.http())} }, "GET /page"},
		{"https through http", true, func(p *relay) []string { return []string{"USER_PROXY", pool(0, "http://"+p.http())} }, "CONNECT"},
		{"http through socks", false, func(p *relay) []string { return []string{"USER_PROXY", pool(0, p.socks())} }, "SOCKS"},
		{"https through socks", true, func(p *relay) []string { return []string{"USER_PROXY", pool(0, p.socks())} }, "SOCKS"},
		{"fixed, http", false, fixedProxy, "GET /page"},
		{"fixed, https", true, fixedProxy, "CONNECT"},
		{"fixed, with a pool", false, func(p *relay) []string {
			return []string{"HTTP_PROXY_HOST", "127.0.0.1", "HTTP_PROXY_PORT", "1", "USER_PROXY", pool(0, p.http())}
		}, "GET /page"},
		{"password", false, func(p *relay) []string {
			p.login = "Basic " + base64.StdEncoding.EncodeToString([]byte("me:secret"))
			return []string{"USER_PROXY", pool(0, "http://me:secret@"+p.http())}
		}, "GET /page"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start := newOrigin
			if tt.secure {
				start = newSecureOrigin
			}
			o := start(t, func(w http.ResponseWriter, r *http.Request) {
				page(w, "<p>for "+r.Header.Get("Proxy-Authorization"))
			})
			p := newRelay(t)
			w := newWorld(t)
			w.addSite("s", append(tt.properties(p), "TLSVerify", "0")...)
			it := w.item("s", o.URL+"/page")
			w.run(batchOf(it))
			if row := w.row(it); row.ErrorMask != 0 || w.file(it, wire.ContentRaw) != "<p>for " {
				t.Errorf("%s, %q", bitNames(row.ErrorMask), w.file(it, wire.ContentRaw))
			}
			if got := p.requests(); !slices.Equal(got, []string{tt.asked}) {
				t.Errorf("the proxy was asked for %q", got)
			}
			o.checkRelayed(t, 1)
		})
	}
}

func fixedProxy(p *relay) []string {
	host, port, _ := net.SplitHostPort(p.http())
	return []string{"HTTP_PROXY_HOST", host, "HTTP_PROXY_PORT", port}
}

// TestProxyRotation: after a proxy that fails comes the next, as often as the property allows, and the
// fault is counted.
func TestProxyRotation(t *testing.T) {
	const dead, dead2 = "127.0.0.1:1", "socks5://127.0.0.1:2"
	aliveCheck := []string{"HOST_ALIVE_CHECK_PROXY", `{"connect_resolve": 1}`}
	denies := func(p *relay) string { p.code, p.text = 200, "<p>Denied by proxy"; return p.http() }
	wantsLogin := func(p *relay) string { p.login = "Basic x"; return p.http() }
	good := (*relay).http
	at := func(host string) func(*relay) string { return func(*relay) string { return host } }
	check := func(more map[string]any) map[string]any {
		c := map[string]any{"patterns": []string{"Denied by"}}
		maps.Copy(c, more)
		return map[string]any{"raw_content_check": c, "tries_count": 1}
	}
	for _, tt := range []struct {
		name       string
		members    map[string]any
		hosts      []func(*relay) string
		properties []string
		bits       errormask.Mask
		code       int64
		status     int64
		faults     []int // of the hosts
	}{
		{name: "the second is good", members: map[string]any{"tries_count": 1}, hosts: []func(*relay) string{at(dead), good}, code: 200, status: 4, faults: []int{1, 0}},
		{name: "one try is the default", members: map[string]any{}, hosts: []func(*relay) string{at(dead), good}, code: 200, status: 4, faults: []int{1, 0}},
		{name: "no try", members: map[string]any{"tries_count": 0}, hosts: []func(*relay) string{at(dead), good}, bits: errormask.NoProxy, code: 504, status: 4, faults: []int{1, 0}},
		{name: "tries are used up", members: map[string]any{"tries_count": 1, "status_update_tries_limit": 1}, hosts: []func(*relay) string{at(dead), at(dead2), good},
			bits: errormask.NoProxy, code: 504, status: 1, faults: []int{1, 1, 0}},
		{name: "no proxy is left", members: map[string]any{"tries_count": 5, "status_update_no_available_proxy": 7}, hosts: []func(*relay) string{at(dead), at(dead2)},
			bits: errormask.NoProxy, code: 504, status: 7, faults: []int{1, 1}},
		{name: "no proxy serves the page", members: map[string]any{"status_update_no_available_proxy": 1, "domains": "other"}, hosts: []func(*relay) string{good},
			bits: errormask.NoProxy, code: 504, status: 1, faults: []int{0}},
		{name: "empty", members: map[string]any{"status_update_empty_proxy_list": 1}, bits: errormask.NoProxy, code: 504, status: 1},
		{name: "it wants a password", members: map[string]any{"tries_count": 1}, hosts: []func(*relay) string{wantsLogin, good}, code: 200, status: 4, faults: []int{1, 0}},
		{name: "its answer is not the page's", members: check(nil), hosts: []func(*relay) string{denies, good}, code: 200, status: 4, faults: []int{1, 0}},
		{name: "its answer is not the page's, no fault", members: check(map[string]any{"faults": 0}), hosts: []func(*relay) string{denies, good}, code: 200, status: 4, faults: []int{0, 0}},
		{name: "its answer is not the page's, no rotation", members: check(map[string]any{"rotate": 0}), hosts: []func(*relay) string{denies, good}, code: 200, status: 4, faults: []int{1, 0}},
		{name: "all answers are not the page's", members: check(nil), hosts: []func(*relay) string{denies, denies}, bits: errormask.NoProxy, code: 504, status: 4, faults: []int{1, 1}},
		{name: "alive check", members: map[string]any{"tries_count": 1}, properties: aliveCheck, hosts: []func(*relay) string{at(dead), good}, code: 200, status: 4, faults: []int{1, 0}},
		{name: "alive check fails for all", members: map[string]any{"tries_count": 1}, properties: aliveCheck, hosts: []func(*relay) string{at(dead), at("127.0.0.1:3")},
			bits: errormask.NoProxy, code: 504, status: 4, faults: []int{1, 1}},
		{name: "an error of the page is not a fault of the proxy", members: map[string]any{"tries_count": 1}, hosts: []func(*relay) string{func(p *relay) string { p.code = 404; return p.http() }, good},
			bits: errormask.HTTP, code: 404, status: 4, faults: []int{0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOrigin(t, ok)
			w := newWorld(t)
			w.job.Config.ProxyDir = t.TempDir()
			var hosts []string
			for i, host := range tt.hosts {
				hosts = append(hosts, host(newRelay(t)))
				w.SiteProxies = append(w.SiteProxies, wire.Proxy{SiteID: "s", Host: hosts[i], Domains: domainsOf(tt.members), Priority: int64(i + 1), State: 1, FaultsMax: 1})
			}
			tt.members["source"] = 1
			w.addSite("s", append(tt.properties, "USER_PROXY", poolWith(tt.members))...)
			it := w.item("s", o.URL+"/page")
			w.run(batchOf(it))
			if row := w.row(it); row.ErrorMask != tt.bits || row.HTTPCode != tt.code || row.Status != tt.status {
				t.Errorf("%s, code %d, status %d", bitNames(row.ErrorMask), row.HTTPCode, row.Status)
			}
			var want []string
			for i, n := range tt.faults {
				if n > 0 {
					want = append(want, fmt.Sprint("s ", hosts[i], " true"))
				}
			}
			if !slices.Equal(w.ProxyFaults, want) {
				t.Errorf("faults %q, want %q", w.ProxyFaults, want)
			}
			o.checkRelayed(t, 0+btoi(tt.code == 200 && !strings.Contains(w.file(it, wire.ContentRaw), "Denied")))
		})
	}
}

// domainsOf removes and returns the domains of a case's proxies from its members.
func domainsOf(members map[string]any) string {
	text, _ := members["domains"].(string)
	return text
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestPoolIsShared: uses and faults of a proxy outlive the batch in its index file. A proxy with too
// many faults is not used again.
func TestPoolIsShared(t *testing.T) {
	o, p := newOrigin(t, ok), newRelay(t)
	w := newWorld(t)
	w.job.Config.ProxyDir = t.TempDir()
	index := filepath.Join(w.job.Config.ProxyDir, "index.json")
	text := fmt.Sprintf(`{"bad": {"host": "127.0.0.1:1", "priority": 1, "faultsMax": 2}, "good": {"host": %q, "priority": 5}}`, p.http())
	if err := os.WriteFile(index, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.addSite("s", "USER_PROXY", `{"file_path": "index.json"}`)
	for i := range 4 {
		it := w.item("s", fmt.Sprint(o.URL, "/", i))
		w.run(batchOf(it))
		if row := w.row(it); row.ErrorMask != 0 {
			t.Errorf("%d: %s", i, bitNames(row.ErrorMask))
		}
	}
	got, err := os.ReadFile(index)
	if err != nil || !strings.Contains(string(got), `"faults":2`) || !strings.Contains(string(got), `"freq":4`) {
		t.Errorf("%v, the index is %s", err, got)
	}
	o.checkRelayed(t, 1)
}

// TestNothingGoesPastTheProxy: further requests for a page use the proxy of the page.
func TestNothingGoesPastTheProxy(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /closed\nSitemap: /map.xml")
		case "/map.xml":
			w.Header().Set("Content-Type", "application/xml")
			fmt.Fprintf(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://%s/listed</loc></url></urlset>`, r.Host)
		case "/moved":
			http.Redirect(w, r, "/target", http.StatusFound)
		case "/refresh":
			page(w, `<meta http-equiv=refresh content="0;url=/target">`)
		case "/values":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"v": ["made"]}`)
		default:
			page(w, `<a href="/moved">m</a><a href="/plain">p</a>`)
		}
	}
	for _, tt := range []struct {
		name       string
		path       string
		properties []string
		asked      []string
	}{
		{"robots.txt", "/page", []string{"ROBOTS_MODE", "1"}, []string{"GET /robots.txt", "GET /page"}},
		{"alive check of the host", "/page", []string{"HOST_ALIVE_CHECK", `{"connect_resolve": 1}`}, []string{"GET /page"}},
		{"types of links", "/page", []string{"MIME_TYPE_AUTO_DETECT", "2"}, []string{"GET /page", "HEAD /moved", "HEAD /target", "HEAD /plain"}},
		{"limits by type", "/page", []string{"URL_LIMITS", `{"content_type_mask": "text/.*", "max_items": 5}`}, []string{"GET /page", "HEAD /moved", "HEAD /target", "HEAD /plain"}},
		{"resolver", "/page", []string{"HTTP_REDIRECT_RESOLVER", `{"METHOD": "HEAD"}`}, []string{"GET /page", "HEAD /moved", "HEAD /target", "HEAD /plain"}},
		{"resolver by GET", "/page", []string{"HTTP_REDIRECT_RESOLVER", `{"METHOD": "SGET"}`}, []string{"GET /page", "GET /moved", "GET /target", "GET /plain"}},
		{"redirect", "/moved", nil, []string{"GET /moved", "GET /target"}},
		{"meta refresh", "/refresh", nil, []string{"GET /refresh", "GET /target"}},
		{"not modified", "/page", []string{"DETECT_MODIFIED", `{"algorithm": 3, "mode": 2}`}, []string{"HEAD /page", "GET /page"}},
		{"values of a schema", "/%v%", []string{"URLS_SCHEMA", `{"type": 1, "parameters": {"v": ["own"]}, "urls": ["%ORIGIN%/values"]}`}, []string{"GET /values", "GET /made"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, p := newOrigin(t, handler), newRelay(t)
			w := newWorld(t)
			properties := append([]string{"USER_PROXY", pool(1, p.http())}, tt.properties...)
			for i := range properties {
				properties[i] = strings.ReplaceAll(properties[i], "%ORIGIN%", o.URL)
			}
			w.addSite("s", properties...)
			it := w.item("s", o.URL+tt.path, func(u *wire.URL) { u.Crawled, u.Size = 1, 3 })
			w.run(batchOf(it))
			if got := o.requests(); !slices.Equal(got, tt.asked) {
				t.Errorf("asked for %q", got)
			}
			o.checkRelayed(t, 1)
		})
	}
	t.Run("sitemap", func(t *testing.T) {
		o, p := newOrigin(t, handler), newRelay(t)
		w := newWorld(t)
		w.addSite("s", "ROBOTS_MODE", "1", "USER_PROXY", pool(1, p.http()))
		b := batchOf(w.item("s", o.URL+"/"))
		b.MaxIterations, b.Items[0].Depth = 3, 1
		w.run(b)
		if !slices.Contains(o.requests(), "GET /map.xml") {
			t.Errorf("asked for %q", o.requests())
		}
		o.checkRelayed(t, 1)
	})
	t.Run("content that the client supplies", func(t *testing.T) {
		o, p := newOrigin(t, handler), newRelay(t)
		w := newWorld(t)
		w.addSite("s", "USER_PROXY", pool(1, p.http()), "MIME_TYPE_AUTO_DETECT", "2")
		it := w.item("s", o.URL+"/given")
		it.URL.URLPut = []byte(`{"siteId": "s", "urlMd5": "` + it.URLID + `", "putDict": {"data": "<a href='/plain'>p</a>"}}`)
		w.run(batchOf(it))
		if got := o.requests(); !slices.Equal(got, []string{"HEAD /plain"}) {
			t.Errorf("asked for %q", got)
		}
		o.checkRelayed(t, 1)
	})
	t.Run("links whose proxies are gone", func(t *testing.T) {
		o := newOrigin(t, handler)
		w := newWorld(t)
		w.addSite("s", "USER_PROXY", pool(0), "MIME_TYPE_AUTO_DETECT", "2")
		it := w.item("s", o.URL+"/given")
		it.URL.URLPut = []byte(`{"siteId": "s", "urlMd5": "` + it.URLID + `", "putDict": {"data": "<a href='/plain'>p</a>"}}`)
		w.run(batchOf(it))
		if got := w.links(it); len(got) != 1 {
			t.Errorf("links %q", got)
		}
		o.checkRelayed(t, 0)
	})
	t.Run("explain", func(t *testing.T) {
		o, p := newOrigin(t, handler), newRelay(t)
		w := newWorld(t)
		w.addSite("s", "ROBOTS_MODE", "1", "USER_PROXY", pool(1, p.http()))
		w.item("s", o.URL+"/page")
		e, err := w.job.Explain(t.Context(), o.URL+"/page", "s", true)
		if err != nil || e.Fetch == nil || e.Fetch.HTTPCode != 200 || !e.Robots.Allowed {
			t.Errorf("%v %+v", err, e.Fetch)
		}
		o.checkRelayed(t, 1)
	})
}

// TestRobotsOfARedirectByADeadProxy: a proxy that fails at the robots.txt of a redirect's host gets a
// fault, and the next one is tried.
func TestRobotsOfARedirectByADeadProxy(t *testing.T) {
	away := newOrigin(t, ok)
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, away.URL+"/x", http.StatusFound) })
	bad, good := newRelay(t), newRelay(t)
	w := newWorld(t)
	w.addSite("s", "ROBOTS_MODE", "1", "USER_PROXY", pool(1, bad.http(), good.http()))
	bad.onlyTo = o.Listener.Addr().String()
	it := w.item("s", o.URL+"/page")
	w.run(batchOf(it))
	if row := w.row(it); row.ErrorMask != 0 {
		t.Errorf("%s", bitNames(row.ErrorMask))
	}
	if !slices.Contains(good.requests(), "GET /page") {
		t.Errorf("the second proxy was asked for %q", good.requests())
	}
	o.checkRelayed(t, 1)
	away.checkRelayed(t, 1)
}

// TestProxyBehindTheGuard: a proxy at an address that is not public is refused, unless it is allowed, as
// in the other tests.
func TestProxyBehindTheGuard(t *testing.T) {
	for _, host := range []string{"10.0.0.1:3128", "socks5://192.168.0.1:1080"} {
		o, w := newOrigin(t, ok), newWorld(t)
		w.addSite("s", "USER_PROXY", pool(0, host))
		it := w.item("s", o.URL+"/page")
		w.run(batchOf(it))
		if row := w.row(it); row.ErrorMask&errormask.Guard == 0 {
			t.Errorf("%s: %s", host, bitNames(row.ErrorMask))
		}
		o.checkRelayed(t, 0)
	}
}

//go:build e2e

package e2e

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/web/charset"
	"hce/dc/warc"
)

// ReplayWeb.page shows every page of an archive as the live site shows it: redirects in chains with
// relative links behind them, texts whose charset only the header names, and odd paths.
func TestReplay(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, replayPage("Elsewhere ÷", `<a href="near">near</a>`))
	}))
	t.Cleanup(other.Close)
	site := &replaySite{outside: strings.Replace(other.URL, "127.0.0.1", "localhost", 1)}
	live := serveRaw(t, site.answer)

	data, file := t.TempDir(), filepath.Join(t.TempDir(), "site.wacz")
	hce(t, 0, "crawl", live, "--data", data, "--name", "site", "--scope", "any", "--max-pages", "300", "--delay", "0s", loopback)
	hce(t, 0, "export", "site", "--data", data, "--format", "wacz", "--out", file)

	again := filepath.Join(t.TempDir(), "again.wacz")
	hce(t, 0, "import", "warc", file, "--data", data, "--site", "copy")
	hce(t, 0, "export", "copy", "--data", data, "--format", "wacz", "--out", again)
	want, got := answersOf(t, file), answersOf(t, again)
	for url, dates := range want {
		if len(dates) == 0 || len(got[url]) == 0 || len(dates) == 1 && got[url][0] != dates[0] {
			t.Errorf("%s: %q\nafter an import: %q", url, dates, got[url])
		}
	}
	if len(want) < 70 || len(got) != len(want) {
		t.Errorf("%d answers, after an import %d", len(want), len(got))
	}

	b := newReplayBrowser(t, file)
	for _, path := range site.paths() {
		want, got := b.shown(live+path), b.replayed(live+path)
		if cause := replayFaults[path]; (want == got) != (cause == "") {
			t.Errorf("%s (known: %s)\nlive:\n%s\nreplay:\n%s", path, cause, want, got)
		}
	}
}

// answersOf reads the dates of all answers of a WACZ file by their addresses, heads and digests. An import keeps one
// of answers that are the same.
func answersOf(t *testing.T, path string) map[string][]string {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	file, err := z.Open("archive/data.warc.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := warc.NewReader(file)
	answers := map[string][]string{}
	for err == nil {
		var found *warc.Found
		if found, err = r.Next(); err != nil {
			break
		}
		if found.Type != warc.Response && found.Type != warc.Revisit {
			continue
		}
		block, _ := io.ReadAll(found.Body) // an error comes again
		head, _, _ := bytes.Cut(block, []byte("\r\n\r\n"))
		key := strings.Join([]string{found.TargetURI(), string(head), found.Fields.Get(warc.FieldPayloadDigest)}, "\n")
		answers[key] = append(answers[key], found.Fields.Get(warc.FieldDate))
	}
	if err != io.EOF {
		t.Fatal(err)
	}
	return answers
}

// replayFaults are the pages that ReplayWeb.page 2.5.3 shows in another way, with the cause (docs/hce.md).
var replayFaults = map[string]string{
	"/links":      "the player reads links of a page in a legacy charset as UTF-8",
	"/raw":        "the player reads a Location as Latin-1",
	"/undeclared": "the player shows a page without a charset in a frame, which takes the charset of the player",
	"/q?":         "an empty query is no part of a URL of the crawler, and the player looks for the very text",
	"/~tilde":     "/%7Etilde is the same page for the crawler, and the player looks for the very text",
}

// replayPage is a page with a title, which is part of its text, too, a style, a script and a picture.
func replayPage(title, body string) string {
	return "<!DOCTYPE html><html><head><title>" + title + `</title><link rel=stylesheet href="/look.css"></head><body><h1>` + title +
		`</h1><p>The text of this page is long enough to be its article: ` + title + `.</p><img src="/dot.png" alt="a dot"><p id=made></p><script src="/made.js"></script>` + body + "</body></html>"
}

// replaySite is the site: pages with a charset, redirects, and odd paths.
type replaySite struct{ outside string }

// charsets of replaySite have a page each, whose charset only the header names.
var replayCharsets = map[string]string{
	"windows-1251": "Съешь ещё этих булок", "shift_jis": "日本語の表示テスト", "iso-8859-2": "Příliš žluťoučký kůň", "utf-8": "Ξεσκεπάζω την ψυχή",
	"gb18030": "中文网页的编码", "koi8-r": "Страница в КОИ", "euc-kr": "한국어 문서",
}

// redirects of replaySite by path.
func (s *replaySite) redirects() map[string]struct {
	code int
	to   string
} {
	return map[string]struct {
		code int
		to   string
	}{
		"/r301": {301, "/dir/"}, "/r302": {302, "r307"}, "/r307": {307, "/r308?a=1&b=2"}, "/r308?a=1&b=2": {308, "/deep/er/page.html"},
		"/r303": {303, "/dir/#part"}, "/dir": {301, "/dir/"}, "/raw": {302, "/日本/ページ"}, "/escaped": {302, "/caf%C3%A9"},
		"/percent": {302, "/100%-sure"}, "/out": {302, s.outside + "/landing"}, "/query": {301, "/q?a=b&c"},
		// to pages to which nothing else leads
		"/to1": {302, "/only|pipe?a|b"}, "/to2": {302, "/only%percent?x=%"}, "/to3": {302, "/only[1]?a[]=1"}, "/to4": {302, "/only'quote'?a='b'"}, "/to5": {302, "only space"},
		"/to6": {302, "/only^caret?a^b"}, "/to7": {302, "/only/%e6%97%a5?q=%c3%a9"}, "/to8": {302, `/only{brace}"?x={"y"}`}, "/to9": {302, "/only/./../only;x=1//y"}, "/to10": {302, `\only\back`},
	}
}

// replayOdd are the paths of plain pages, as links have them.
var replayOdd = []string{
	"/100%-sure", "/a%2Fb", "/a b", "/semi;v=1/x;y", "/日本/ページ", "/caf%C3%A9", "/caf%E9", "/q?a=b&c", "/q?", "/q?a=%2F+b%20c", "/q?c=3&a=1", "/q?a=2&a=1",
	"/Q?A=B", "/q?A=B", "/dots...", "/dir./x", "/Case", "/case", "/a//b", "/%7Etilde", "/~tilde", "/q?u=http://x.example/y?z=1", "/comma,plus+x", "/pct%25",
	"/trailing/", "/trailing", "/quote'x", "/pipe|x", "/br[ack]et", "/q?日本=語", "/http://127.0.0.1/x", "/at@x:y", "/q?x=%", "/q?_=1", "/a!b$c*(d)",
}

// paths are all pages, as links have them.
func (s *replaySite) paths() []string {
	list := append([]string{"/", "/meta", "/script", "/undeclared", "/in-meta", "/links", "/same1", "/same2"}, replayOdd...)
	for name := range replayCharsets {
		list = append(list, "/charset/"+name)
	}
	for path := range s.redirects() {
		list = append(list, path)
	}
	slices.Sort(list)
	return list
}

// answer returns the answer to a request for path, as it is sent.
func (s *replaySite) answer(path string) string {
	if to, ok := s.redirects()[path]; ok {
		return fmt.Sprintf("HTTP/1.1 %d Moved\r\nLocation: %s\r\nContent-Length: 5\r\n\r\nmoved", to.code, to.to)
	}
	if name, ok := strings.CutPrefix(path, "/charset/"); ok {
		page := replayPage(replayCharsets[name], `<a href="/q?x=1">x</a>`)
		return ok200("text/html; charset="+name, string(charset.Encode([]byte(page), name)[0]))
	}
	switch path {
	case "/":
		var links strings.Builder
		for _, p := range s.paths() {
			p = strings.ReplaceAll(p, "&", "&amp;")
			fmt.Fprintf(&links, "<a href=\"%s\">%s</a>\n", p, p)
		}
		return ok200("text/html; charset=utf-8", replayPage("Index ü", links.String()))
	case "/meta":
		return ok200("text/html", `<title>Meta</title><meta http-equiv=refresh content="0; url=meta-target.html"><p>One moment`)
	case "/script":
		return ok200("text/html", `<title>Script</title><a href="landed">x</a><script>document.title = "Scripted"</script>`)
	case "/same1", "/same2": // the second one is a revisit
		return ok200("text/html", "<title>Same</title><p>a body that two pages have")
	case "/undeclared":
		return ok200("text/html", "<title>Caf\xe9</title><p>cr\xe8me br\xfbl\xe9e, as the sign of an old caf\xe9 says")
	case "/in-meta":
		return ok200("text/html", string(charset.Encode([]byte("<meta charset=koi8-r>"+replayPage("В заголовке", "")), "koi8-r")[0]))
	case "/links":
		return ok200("text/html; charset=windows-1251", string(charset.Encode([]byte(replayPage("Ссылки", `<a href="/путь?q=слово">x</a>`)), "windows-1251")[0]))
	case "/look.css":
		return ok200("text/css", "h1 { color: rgb(1, 2, 3) }")
	case "/made.js":
		return ok200("text/javascript; charset=utf-8", `document.getElementById("made").textContent = "made by a script: é"`)
	case "/dot.png":
		return ok200("image/png", replayDot())
	case "/robots.txt", "/favicon.ico":
		return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
	}
	return ok200("text/html; charset=utf-8", "<title>Page "+strings.ReplaceAll(path, "%25", "%")+` ü</title><p>This is a page <a href="next.html?x=1">next</a> to <a href="../up.html">others</a>`)
}

func ok200(kind, body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", kind, len(body), body)
}

func replayDot() string {
	var b bytes.Buffer
	dot := image.NewRGBA(image.Rect(0, 0, 7, 7))
	dot.Set(3, 3, color.Black)
	_ = png.Encode(&b, dot)
	return b.String()
}

// serveRaw serves answers to GET requests by their target, which net/http refuses if it has a bare percent
// sign. It returns the URL of the server.
func serveRaw(t *testing.T, answer func(path string) string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	serve := func(conn net.Conn) {
		defer conn.Close()
		for r := textproto.NewReader(bufio.NewReader(conn)); ; {
			line, err := r.ReadLine()
			if _, headErr := r.ReadMIMEHeader(); err != nil || headErr != nil {
				return
			}
			_, path, _ := strings.Cut(line, " ")
			path, _, _ = strings.Cut(path, " HTTP/")
			if _, err := io.WriteString(conn, answer(path)); err != nil {
				return
			}
		}
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	return "http://" + listener.Addr().String()
}

// replayBrowser shows pages: live ones, and those of a file in ReplayWeb.page.
type replayBrowser struct {
	*testing.T
	live, player context.Context // tabs
	app          string          // the player with the file
}

// newReplayBrowser opens a file in ReplayWeb.page.
func newReplayBrowser(t *testing.T, file string) *replayBrowser {
	t.Helper()
	program := "../.cache/node_modules/replaywebpage"
	if _, err := os.Stat(filepath.Join(program, "sw.js")); err != nil {
		t.Fatalf("%v; run scripts/setup.sh test", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(program)))
	mux.HandleFunc("/site.wacz", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)

	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(320, 200), chromedp.UserDataDir(t.TempDir()))
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	b := &replayBrowser{T: t, app: server.URL + "/?source=/site.wacz#view=pages&url="}
	b.live, stop = chromedp.NewContext(allocator)
	t.Cleanup(stop)
	if _, err := chromedp.Run(b.live, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	b.player, stop = chromedp.NewContext(b.live)
	t.Cleanup(stop)
	return b
}

// describe returns what a window shows, once it is loaded, and marks it as seen. A replayed window has the
// URL of its page behind that of the player.
const describe = `const describe = (w) => {
  const d = w.document, where = w.location.href.replace(/^.*?mp_\//, '')
  if (w.seen || d.readyState !== 'complete' || !where.startsWith('http') || d.title === 'Meta') return
  w.seen = true
  const h1 = d.querySelector('h1')
  return [where, d.title, d.body.innerText, ...[...d.links].map((a) => a.href),
    h1 && w.getComputedStyle(h1).color, ...[...d.images].map((i) => i.src + ' ' + i.naturalWidth)].join('\n')
}
const frame = (root) => {
  for (const e of root.querySelectorAll('*')) {
    if (e.tagName === 'IFRAME' && e.contentWindow) return e.contentWindow
    const found = e.shadowRoot && frame(e.shadowRoot)
    if (found) return found
  }
};`

// shown returns what a live page shows.
func (b *replayBrowser) shown(target string) string {
	b.Helper()
	if _, err := chromedp.Run(b.live, chromedp.Navigate(target)); err != nil {
		b.Errorf("%s: %v", target, err)
	}
	return b.described(b.live, target, "describe(window)")
}

// replayed returns what the player shows. Another hash lets it show another page.
func (b *replayBrowser) replayed(target string) string {
	b.Helper()
	if _, err := chromedp.Run(b.player, chromedp.Navigate(b.app+url.QueryEscape(target))); err != nil {
		b.Errorf("%s: %v", target, err)
	}
	return b.described(b.player, target, "frame(document) && describe(frame(document))")
}

const replayTime = 30 * time.Second

// described waits until a page is loaded. A page that goes to another one meanwhile ends the script.
func (b *replayBrowser) described(tab context.Context, target, script string) (found string) {
	b.Helper()
	testwait.UntilWithin(b.T, replayTime, target+" is loaded", func() bool {
		var err error
		found, err = chromedp.Run(tab, chromedp.Poll[string]("(() => {"+describe+"return "+script+"})()",
			chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(replayTime)))
		return err == nil
	})
	return found
}

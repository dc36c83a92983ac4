package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
)

// TestGatherIsBounded: pages that try to make their parts and requests large, or to hide them.
func TestGatherIsBounded(t *testing.T) {
	var scripts strings.Builder
	for i := range 30 {
		fmt.Fprintf(&scripts, `<script src="/x?%d"></script>`, i)
	}
	where := site(t, map[string]any{
		"/deep": `<body><script>let at = document.body;
			for (let i = 0; i < 200; i++) { const d = document.createElement("div"); (at.shadowRoot ?? at).append(d); d.attachShadow({mode: "open"}); at = d; }
			document.body.append("made")</script>`,
		"/wide": `<body><script>for (let i = 0; i < 500; i++) { const d = document.createElement("div"); document.body.append(d);
			d.attachShadow({mode: "open"}).innerHTML = "<a href=x>" + "y".repeat(1000); }
			document.body.append("made")</script>`,
		"/churn": `<body><script>const big = document.createElement("div"); big.innerHTML = "<a href=x>".repeat(2000);
			for (let i = 0; i < 2000; i++) { document.body.append(big); big.remove(); } document.body.append("made")</script>`,
		"/hide": `<body><a id=a href=old></a><script>
			MutationObserver = undefined; Element.prototype.attachShadow.call(document.body, {mode: "open"}).innerHTML = "<a href=shadow>";
			Object.defineProperty(Element.prototype, "shadowRoot", {get() { return null }}); globalThis.dropped = null;
			Object.defineProperty(Node.prototype, "baseURI", {get() { return "http://wrong.test/" }});
			document.getElementById("a").href = "new"; document.write("made")</script>`,
		"/frames": `<body><script>for (let i = 0; i < 80; i++) { const f = document.createElement("iframe"); f.srcdoc = "<a href=f" + i + ">"; document.body.append(f); }
			document.body.append("made")</script>`,
		// The page waits for its scripts, but not for other requests.
		"/loads": "<body>" + scripts.String() + `<script>fetch("/" + "l".repeat(9000)).catch(() => {});
			new Image().src = "data:image/gif;base64,R0"; document.write("made")</script>`,
		"/x": "ok",
	})
	const most = 100 << 10
	for path, cut := range map[string]bool{"/deep": false, "/wide": true, "/churn": true, "/hide": false, "/frames": true, "/loads": false} {
		t.Run(path[1:], func(t *testing.T) {
			p := get(t, Request{URL: where + path, MaxBytes: most})
			if path != "/hide" { // its body shows the shadow tree
				wantText(t, p, "made")
			}
			size := len(p.Body)
			for _, part := range p.Parts {
				size += len(part.HTML)
				if !strings.HasPrefix(part.Base, where) {
					t.Errorf("base %q", part.Base)
				}
			}
			if size > most || len(p.Loads) > maxLoads || p.Cut != cut || path == "/loads" && len(p.Loads) != 30 {
				t.Errorf("%d parts with %d bytes, %d requests, cut %t", len(p.Parts), size, len(p.Loads), p.Cut)
			}
			if text := fmt.Sprint(p.Parts); path == "/hide" && (!strings.Contains(text, "shadow") || !strings.Contains(text, "old")) {
				t.Errorf("parts %s", text)
			}
		})
	}
}

// TestManyLoads: the list of requests has a limit.
func TestManyLoads(t *testing.T) {
	v := &visit{}
	for i := range maxLoads + 1 {
		v.noteLoad(&fetch.EventRequestPaused{Request: &network.Request{URL: fmt.Sprint("http://a.test/", i)}})
		v.noteLoad(&fetch.EventRequestPaused{Request: &network.Request{URL: "http://a.test/icon"}, ResourceType: network.ResourceTypeOther})
		v.noteLoad(&fetch.EventRequestPaused{Request: &network.Request{URL: "blob:http://a.test/1"}})
	}
	if len(v.loads) != maxLoads || !v.loadsCut || v.loads[1] != "http://a.test/1" {
		t.Errorf("%d requests, cut %t", len(v.loads), v.loadsCut)
	}
}

package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
)

// Limits of what is gathered from a page apart from its document.
const (
	maxLoads     = 1000    // requests
	maxLoadBytes = 8 << 10 // of the URL of a request
	maxFrames    = 50
	maxDropped   = 1 << 20 // characters of removed elements, for each document
)

// Part is a piece of HTML that belongs to a page and is not in its document: a shadow tree, the
// document of a frame, or an element that a script removed.
type Part struct {
	Base string // the base URL of its links
	HTML string // UTF-8
}

// world is the isolated world of the scripts below, where scripts of a page cannot reach.
const world = "dc"

// watchScript keeps the elements that scripts remove from a document, and former values of their
// attributes, from its beginning. So a link that the server sent is known, whatever became of it.
const watchScript = `(() => {
	const kept = globalThis.dropped = [];
	let room = %d;
	const html = Object.getOwnPropertyDescriptor(Element.prototype, "outerHTML").get;
	const make = Document.prototype.createElement, set = Element.prototype.setAttribute;
	const keep = element => {
		const text = html.call(element);
		room = text.length < room ? room - text.length - 16 : 0;
		if (room > 0) kept.push(text);
	};
	new MutationObserver(list => {
		for (const change of list) {
			if (room <= 0) return;
			for (const node of change.removedNodes) if (node instanceof Element) keep(node);
			if (change.oldValue) try {
				const element = make.call(document, change.target.localName);
				set.call(element, change.attributeName, change.oldValue);
				keep(element);
			} catch {}
		}
	}).observe(document, {childList: true, subtree: true, attributes: true, attributeOldValue: true,
		attributeFilter: ["href", "src", "srcset", "action", "data", "data-src", "data-srcset"]});
})()`

// gatherScript returns the shadow trees of a document, the elements that it lost, and the document
// itself if asked. Getters come from prototypes, because elements can hide properties.
const gatherScript = `(() => {
	let room = %d, cut = false;
	const parts = [];
	const getter = (type, name) => Object.getOwnPropertyDescriptor(type.prototype, name).get;
	const html = getter(Element, "outerHTML"), shadow = getter(Element, "shadowRoot");
	const add = text => {
		if (text.length > room) { cut = true; return; }
		room -= text.length;
		parts.push(text.toWellFormed());
	};
	const root = getter(Document, "documentElement").call(document);
	if (%t && root) add(html.call(root) ?? "");
	const trees = [[Document.prototype.querySelectorAll, document]];
	while (trees.length > 0) {
		const [all, tree] = trees.pop();
		for (const element of all.call(tree, "*")) {
			const inner = shadow.call(element);
			if (!inner) continue;
			add(inner.innerHTML);
			trees.push([DocumentFragment.prototype.querySelectorAll, inner]);
		}
	}
	for (const text of globalThis.dropped ?? []) add(text);
	return {base: getter(Node, "baseURI").call(document), parts, cut};
})()`

// keepRemoved makes the page and its frames keep what scripts remove from them.
func (v *visit) keepRemoved(ctx context.Context) error {
	_, err := cdp.Call(ctx, v.session, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: fmt.Sprintf(watchScript, maxDropped), WorldName: world})
	return err
}

// gatherParts adds the parts of the page, as far as its document leaves room, and the requests that it
// made. A frame that cannot be read is left out.
func (v *visit) gatherParts(ctx context.Context, p *Page) {
	v.mu.Lock()
	p.Loads, p.Cut = v.loads, v.loadsCut
	v.mu.Unlock()
	tree, err := cdp.Call(ctx, v.session, page.GetFrameTree, cdp.Empty{})
	if err != nil || tree.FrameTree == nil {
		return
	}
	room := v.req.MaxBytes - int64(len(p.Body))
	frames := []*page.FrameTree{tree.FrameTree}
	for i := 0; i < len(frames) && room > 0; i++ {
		for _, child := range frames[i].ChildFrames {
			if len(frames) > maxFrames {
				p.Cut = true
				break
			}
			frames = append(frames, child)
		}
		isolated, err := cdp.Call(ctx, v.session, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: frames[i].Frame.ID, WorldName: world})
		if err != nil {
			continue
		}
		value, err := v.evaluateScript(ctx, fmt.Sprintf(gatherScript, room, i > 0), isolated.ExecutionContextID)
		var found struct {
			Base  string
			Parts []string
			Cut   bool
		}
		if err != nil || json.Unmarshal(value, &found) != nil {
			continue
		}
		p.Cut = p.Cut || found.Cut
		for _, text := range found.Parts {
			room -= int64(len(text))
			p.Parts = append(p.Parts, Part{found.Base, text})
		}
	}
}

// noteLoad records a request that the page makes for its content. Icons and reports are requests
// of the browser. What a page asks by POST is no address to ask by GET.
func (v *visit) noteLoad(ev *fetch.EventRequestPaused) {
	target := ev.Request.URL
	switch {
	case ev.Request.Method != "" && ev.Request.Method != http.MethodGet:
		return
	case !strings.HasPrefix(target, "http:") && !strings.HasPrefix(target, "https:"), len(target) > maxLoadBytes,
		ev.ResourceType == network.ResourceTypeOther, ev.ResourceType == network.ResourceTypePing,
		ev.ResourceType == network.ResourceTypeCSPViolationReport, ev.ResourceType == network.ResourceTypePreflight:
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.loadsCut = v.loadsCut || len(v.loads) >= maxLoads; !v.loadsCut {
		v.loads = append(v.loads, target)
	}
}

package browser

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"

	"hce/dc/internal/wire/prop"
)

const (
	maxScript  = 4 << 20  // bytes of one loaded script
	maxResults = 32 << 20 // bytes of all results of a macro
	maxURLs    = 100000   // URLs in a macro's result
)

func (p MacroPolicy) withDefaults() MacroPolicy {
	p.MaxItems = cmp.Or(max(p.MaxItems, 0), 1000)
	p.MaxRepeat = cmp.Or(max(p.MaxRepeat, 0), 100)
	p.MaxTime = cmp.Or(max(p.MaxTime, 0), time.Minute)
	return p
}

// checkMacro returns an error if p does not allow m.
func (p MacroPolicy) checkMacro(m *Macro) error {
	if !p.Enabled {
		return errors.New("macros are disabled in the ini")
	}
	items := 0
	for _, set := range m.Sets {
		if set.Repeat > p.MaxRepeat {
			return fmt.Errorf("a set is repeated %d times; the ini allows %d", set.Repeat, p.MaxRepeat)
		}
		items += set.Repeat * len(set.Items)
		for _, item := range set.Items {
			if item.Loop != nil && item.Loop.Max > p.MaxRepeat {
				return fmt.Errorf("a script is repeated %d times; the ini allows %d", item.Loop.Max, p.MaxRepeat)
			}
			if item.Load == "" {
				continue
			}
			if file := strings.HasPrefix(strings.ToLower(item.Load), "file:"); file && p.FilesBelow == "" || !file && !p.Remote {
				return fmt.Errorf("the ini does not allow macros to load %q", prop.Clip(item.Load))
			}
		}
	}
	if items > p.MaxItems {
		return fmt.Errorf("the macro has %d items; the ini allows %d", items, p.MaxItems)
	}
	return nil
}

// macroRun is one run of a macro on a page.
type macroRun struct {
	v       *visit
	results [][]byte // JSON values
	size    int
}

// runMacro runs the macro of the request and puts its result into page.
func (v *visit) runMacro(ctx context.Context, page *Page) error {
	ctx, cancel := context.WithTimeoutCause(ctx, v.cfg.Macros.MaxTime, fmt.Errorf("the macro exceeds the %v that the ini allows", v.cfg.Macros.MaxTime))
	defer cancel()
	r := &macroRun{v: v}
	for i, set := range v.req.Macro.Sets {
		for round := range set.Repeat {
			if round > 0 {
				if err := sleepFor(ctx, set.Delay); err != nil {
					return err
				}
			}
			for j, item := range set.Items {
				if err := r.runItem(ctx, item); err != nil {
					if ctx.Err() != nil {
						err = context.Cause(ctx)
					}
					return fmt.Errorf("set %d, item %d: %w", i+1, j+1, err)
				}
			}
		}
	}
	r.storeResults(page)
	return nil
}

// runItem runs one item and waits for the page that it may lead to.
func (r *macroRun) runItem(ctx context.Context, item MacroItem) error {
	before := r.v.navigationCount()
	err := r.runStep(ctx, item)
	if err != nil && ctx.Err() == nil && r.v.navigationCount() != before {
		err = nil // the script has left the page before its end
	}
	if err != nil {
		return err
	}
	return r.v.waitLoaded(ctx, 0)
}

func (r *macroRun) runStep(ctx context.Context, item MacroItem) error {
	switch {
	case item.Input != nil:
		return r.enterText(ctx, item.Input)
	case item.Load != "":
		script, err := r.v.cfg.loadScript(ctx, item.Load, r.v.req.upstream)
		if err != nil {
			return err
		}
		return r.collectResult(ctx, script)
	case item.Loop != nil:
		return r.runLoop(ctx, item.Script, item.Loop)
	case item.Script != "":
		return r.collectResult(ctx, item.Script)
	}
	return sleepFor(ctx, item.Sleep)
}

// runLoop runs script until it, or the check, returns true. It is not an error if that never
// happens: a page that stops growing is complete.
func (r *macroRun) runLoop(ctx context.Context, script string, l *Loop) error {
	for n := 1; n <= l.Max; n++ {
		if err := sleepFor(ctx, l.Delay); err != nil {
			return err
		}
		value, err := r.v.runScript(ctx, script)
		if err != nil {
			return err
		}
		if l.Check != "" {
			if n%l.Every != 0 {
				continue
			}
			if value, err = r.v.runScript(ctx, l.Check); err != nil {
				return err
			}
		}
		if isTrue(value) {
			return nil
		}
	}
	return nil
}

// isTrue reports whether a JSON value is true in JavaScript.
func isTrue(value json.RawMessage) bool {
	switch string(value) {
	case "", "null", "false", "0", "-0", `""`:
		return false
	}
	return true
}

// enterText types into an element, or empties it.
func (r *macroRun) enterText(ctx context.Context, in *Input) error {
	xpath, _ := json.Marshal(in.XPath) // a string cannot fail
	value, err := r.v.runScript(ctx, `(() => {
		const e = document.evaluate(`+string(xpath)+`, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE, null).singleNodeValue;
		if (!e || !e.focus) return false;
		e.focus();
		if (`+strconv.FormatBool(len(in.Texts) == 0)+`) {
			if ("value" in e) e.value = ""; else e.textContent = "";
			e.dispatchEvent(new Event("input", {bubbles: true}));
			e.dispatchEvent(new Event("change", {bubbles: true}));
		}
		return true;
	})()`)
	if err != nil {
		return err
	}
	if !isTrue(value) {
		return fmt.Errorf("no element matches %q", prop.Clip(in.XPath))
	}
	for _, text := range in.Texts {
		if _, err := cdp.Call(ctx, r.v.session, input.InsertText, input.InsertTextParams{Text: text}); err != nil {
			return err
		}
	}
	return nil
}

// collectResult runs a script and stores its result: a string, the elements of a list, or an
// object. Other results are dropped.
func (r *macroRun) collectResult(ctx context.Context, script string) error {
	value, err := r.v.runScript(ctx, script)
	if err != nil || len(value) == 0 {
		return err
	}
	add := []json.RawMessage{value}
	switch value[0] {
	case '"':
		if len(value) == len(`""`) {
			return nil
		}
	case '{':
	case '[':
		if err := json.Unmarshal(value, &add); err != nil {
			return err
		}
	default:
		return nil
	}
	if r.size += len(value); r.size > maxResults {
		return fmt.Errorf("the results exceed %d bytes", maxResults)
	}
	for _, raw := range add {
		r.results = append(r.results, unescapeJSON(raw))
	}
	return nil
}

// unescapeJSON returns a JSON string without needless escapes, and other values unchanged.
func unescapeJSON(raw json.RawMessage) json.RawMessage {
	var text string
	if raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return raw
	}
	var plain bytes.Buffer
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	if e.Encode(text) != nil {
		return raw
	}
	return bytes.TrimSpace(plain.Bytes())
}

// storeResults puts the results into page. It does not change page if there are no results.
func (r *macroRun) storeResults(page *Page) {
	if len(r.results) == 0 {
		return
	}
	m := r.v.req.Macro
	var texts []string
	for _, raw := range r.results {
		var text string
		if raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
			texts = append(texts, text)
		}
	}
	kind := m.Result
	if kind == ResultAuto {
		switch allTexts := len(texts) == len(r.results); {
		case allTexts && len(texts) == 1:
			kind = ResultContent
		case allTexts:
			kind = ResultURLs
		default:
			kind = ResultDefault
		}
	}
	body := append(append([]byte("["), bytes.Join(r.results, []byte(","))...), ']')
	switch kind {
	case ResultURLs:
		page.MacroURLs = texts[:min(len(texts), maxURLs)]
	case ResultContent:
		if len(texts) == len(r.results) {
			body = []byte(strings.Join(texts, "\n"))
		}
	}
	page.Body, page.Rendered = body, false
	page.ContentType, page.Charset = cmp.Or(m.ContentType, "text/json"), "utf-8"
}

// sleepFor waits for d or the end of ctx.
func sleepFor(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// loadScript returns the text of a script from a server, through Dial, or from a file below
// the folder that the ini allows. %PID% is replaced by this process's id. The request goes
// through upstream unless that is nil.
func (cfg *Config) loadScript(ctx context.Context, source string, upstream *url.URL) (string, error) {
	u, err := url.Parse(strings.ReplaceAll(source, "%PID%", strconv.Itoa(os.Getpid())))
	if err != nil {
		return "", err
	}
	var from io.ReadCloser
	if u.Scheme == "file" {
		from, err = cfg.Macros.openScript(u)
	} else {
		from, err = cfg.downloadScript(ctx, u, upstream)
	}
	if err != nil {
		return "", err
	}
	defer from.Close()
	text, err := io.ReadAll(io.LimitReader(from, maxScript+1))
	switch {
	case err != nil:
		return "", err
	case len(text) > maxScript:
		return "", fmt.Errorf("script %q exceeds %d bytes", prop.Clip(source), maxScript)
	case !utf8.Valid(text):
		return "", fmt.Errorf("script %q is not UTF-8", prop.Clip(source))
	}
	return string(text), nil
}

// openScript opens a script below FilesBelow. It does not follow links that lead out of it.
func (p MacroPolicy) openScript(u *url.URL) (io.ReadCloser, error) {
	if u.Host != "" && u.Host != "localhost" {
		return nil, fmt.Errorf("file URL %q names another machine", prop.Clip(u.String()))
	}
	below, err := filepath.Abs(p.FilesBelow)
	if err != nil {
		return nil, err
	}
	path, err := filepath.Rel(below, filepath.Clean(u.Path))
	if err != nil || !filepath.IsLocal(path) {
		return nil, fmt.Errorf("the ini does not allow macros to load %q", prop.Clip(u.String()))
	}
	root, err := os.OpenRoot(below)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if info, err := root.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q is not a regular file", prop.Clip(u.String())) // a pipe would block
	}
	return root.Open(path)
}

// downloadScript requests a script from a server.
func (cfg *Config) downloadScript(ctx context.Context, u, upstream *url.URL) (io.ReadCloser, error) {
	check := func(u *url.URL) error {
		if upstream == nil {
			return nil // Dial checks the host
		}
		return cfg.Resolve(ctx, u.Hostname())
	}
	if err := check(u); err != nil {
		return nil, err
	}
	client := &http.Client{
		Transport: &http.Transport{DialContext: cfg.Dial, Proxy: http.ProxyURL(upstream), DisableKeepAlives: true, MaxResponseHeaderBytes: 256 << 10},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if len(via) > 5 {
				return errors.New("more than 5 redirects")
			}
			return check(next.URL)
		},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("script %q: status %d", prop.Clip(u.String()), resp.StatusCode)
	}
	return resp.Body, nil
}

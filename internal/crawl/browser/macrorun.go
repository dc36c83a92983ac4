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
)

const (
	maxScript  = 4 << 20  // bytes of a script that a macro loads
	maxResults = 32 << 20 // bytes of all that a macro collects
	maxURLs    = 100000   // URLs of a macro's result
)

func (p MacroPolicy) withDefaults() MacroPolicy {
	p.MaxItems = cmp.Or(max(p.MaxItems, 0), 1000)
	p.MaxRepeat = cmp.Or(max(p.MaxRepeat, 0), 100)
	p.MaxTime = cmp.Or(max(p.MaxTime, 0), time.Minute)
	return p
}

// check reports what m asks for and p does not allow.
func (p MacroPolicy) check(m *Macro) error {
	if !p.Enabled {
		return errors.New("macros are not enabled in the ini")
	}
	items := 0
	for _, set := range m.Sets {
		if set.Repeat > p.MaxRepeat {
			return fmt.Errorf("a set is repeated %d times, more than the %d that the ini allows", set.Repeat, p.MaxRepeat)
		}
		items += set.Repeat * len(set.Items)
		for _, item := range set.Items {
			if item.Until != nil && item.Until.Max > p.MaxRepeat {
				return fmt.Errorf("a script is repeated %d times, more than the %d that the ini allows", item.Until.Max, p.MaxRepeat)
			}
			if item.Load == "" {
				continue
			}
			if file := strings.HasPrefix(strings.ToLower(item.Load), "file:"); file && p.FilesBelow == "" || !file && !p.Remote {
				return fmt.Errorf("the ini does not let macros load %q", clip(item.Load))
			}
		}
	}
	if items > p.MaxItems {
		return fmt.Errorf("it has %d items, more than the %d that the ini allows", items, p.MaxItems)
	}
	return nil
}

// macroRun is one run of a macro on a page.
type macroRun struct {
	v       *visit
	results [][]byte // JSON values
	size    int
}

// runMacro does the macro of the request and puts its result into page.
func (v *visit) runMacro(ctx context.Context, page *Page) error {
	ctx, cancel := context.WithTimeoutCause(ctx, v.cfg.Macros.MaxTime, fmt.Errorf("it takes more than the %v that the ini allows", v.cfg.Macros.MaxTime))
	defer cancel()
	r := &macroRun{v: v}
	for i, set := range v.req.Macro.Sets {
		for round := range set.Repeat {
			if round > 0 {
				if err := sleep(ctx, set.Delay); err != nil {
					return err
				}
			}
			for j, item := range set.Items {
				if err := r.do(ctx, item); err != nil {
					if ctx.Err() != nil {
						err = context.Cause(ctx)
					}
					return fmt.Errorf("set %d, item %d: %w", i+1, j+1, err)
				}
			}
		}
	}
	r.finish(page)
	return nil
}

// do does one item, and waits for the page that it may lead to.
func (r *macroRun) do(ctx context.Context, item MacroItem) error {
	before := r.v.moves()
	err := r.step(ctx, item)
	if err != nil && ctx.Err() == nil && r.v.moves() != before {
		err = nil // the page was left in the middle of a script, which is what it was for
	}
	if err != nil {
		return err
	}
	return r.v.loaded(ctx, 0)
}

func (r *macroRun) step(ctx context.Context, item MacroItem) error {
	switch {
	case item.Input != nil:
		return r.enter(ctx, item.Input)
	case item.Load != "":
		script, err := r.v.cfg.loadScript(ctx, item.Load, r.v.req.upstream)
		if err != nil {
			return err
		}
		return r.collect(ctx, script)
	case item.Until != nil:
		return r.until(ctx, item.Script, item.Until)
	case item.Script != "":
		return r.collect(ctx, item.Script)
	}
	return sleep(ctx, item.Sleep)
}

// until runs script until it, or the check, is true. That it never is, is no
// failure: a page that does not grow any more has been read to its end.
func (r *macroRun) until(ctx context.Context, script string, u *Until) error {
	for n := 1; n <= u.Max; n++ {
		if err := sleep(ctx, u.Delay); err != nil {
			return err
		}
		value, err := r.v.script(ctx, script)
		if err != nil {
			return err
		}
		if u.Check != "" {
			if n%u.Every != 0 {
				continue
			}
			if value, err = r.v.script(ctx, u.Check); err != nil {
				return err
			}
		}
		if truth(value) {
			return nil
		}
	}
	return nil
}

// truth reports whether a JSON value is true as JavaScript sees it.
func truth(value json.RawMessage) bool {
	switch string(value) {
	case "", "null", "false", "0", "-0", `""`:
		return false
	}
	return true
}

// enter types into an element, or empties it.
func (r *macroRun) enter(ctx context.Context, in *Input) error {
	xpath, _ := json.Marshal(in.XPath) // a text always can
	value, err := r.v.script(ctx, `(() => {
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
	if !truth(value) {
		return fmt.Errorf("no element at %q", clip(in.XPath))
	}
	for _, text := range in.Texts {
		if _, err := cdp.Call(ctx, r.v.session, input.InsertText, input.InsertTextParams{Text: text}); err != nil {
			return err
		}
	}
	return nil
}

// collect runs a script and keeps its result: a text, the elements of a list, or
// an object.
func (r *macroRun) collect(ctx context.Context, script string) error {
	value, err := r.v.script(ctx, script)
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
		return fmt.Errorf("it collects more than %d bytes", maxResults)
	}
	for _, raw := range add {
		r.results = append(r.results, readable(raw))
	}
	return nil
}

// readable is a JSON text without the escapes that it can do without; other values
// stay as they are.
func readable(raw json.RawMessage) json.RawMessage {
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

// finish puts what was collected into page. Nothing leaves the page as it is.
func (r *macroRun) finish(page *Page) {
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
		page.Cut = page.Cut || len(texts) > maxURLs
	case ResultContent:
		if len(texts) == len(r.results) {
			body = []byte(strings.Join(texts, "\n"))
		}
	}
	page.Body, page.Rendered = body, false
	page.ContentType, page.Charset = cmp.Or(m.ContentType, "text/json"), "utf-8"
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
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

// loadScript returns the text of a script: from a server through Dial, or from a
// file below the folder that the ini allows. %PID% is replaced by the number of
// this process. A server is asked through upstream unless that is nil.
func (cfg *Config) loadScript(ctx context.Context, where string, upstream *url.URL) (string, error) {
	u, err := url.Parse(strings.ReplaceAll(where, "%PID%", strconv.Itoa(os.Getpid())))
	if err != nil {
		return "", err
	}
	var from io.ReadCloser
	if u.Scheme == "file" {
		from, err = cfg.Macros.open(u)
	} else {
		from, err = cfg.download(ctx, u, upstream)
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
		return "", fmt.Errorf("the script %q has more than %d bytes", clip(where), maxScript)
	case !utf8.Valid(text):
		return "", fmt.Errorf("the script %q is not UTF-8", clip(where))
	}
	return string(text), nil
}

// open opens a script below FilesBelow. Links that lead out of it do not open.
func (p MacroPolicy) open(u *url.URL) (io.ReadCloser, error) {
	if u.Host != "" && u.Host != "localhost" {
		return nil, fmt.Errorf("the file of %q is on another machine", clip(u.String()))
	}
	below, err := filepath.Abs(p.FilesBelow)
	if err != nil {
		return nil, err
	}
	path, err := filepath.Rel(below, filepath.Clean(u.Path))
	if err != nil || !filepath.IsLocal(path) {
		return nil, fmt.Errorf("the ini does not let macros load %q", clip(u.String()))
	}
	root, err := os.OpenRoot(below)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if info, err := root.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q is not a file", clip(u.String())) // a pipe would block
	}
	return root.Open(path)
}

// download gets a script from a server.
func (cfg *Config) download(ctx context.Context, u, upstream *url.URL) (io.ReadCloser, error) {
	judge := func(u *url.URL) error {
		switch {
		case upstream == nil:
			return nil // Dial judges
		case cfg.Resolve == nil:
			return errNoResolve
		}
		return cfg.Resolve(ctx, u.Hostname())
	}
	if err := judge(u); err != nil {
		return nil, err
	}
	client := &http.Client{
		Transport: &http.Transport{DialContext: cfg.Dial, Proxy: http.ProxyURL(upstream), DisableKeepAlives: true, MaxResponseHeaderBytes: 256 << 10},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if len(via) > 5 {
				return errors.New("more than 5 redirects")
			}
			return judge(next.URL)
		},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if cfg.UserAgent != "" {
		req.Header.Set("User-Agent", cfg.UserAgent)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("the script %q: status %d", clip(u.String()), resp.StatusCode)
	}
	return resp.Body, nil
}

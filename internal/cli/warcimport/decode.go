package warcimport

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"hce/dc/canonical"
	"hce/dc/internal/web/charset"
	"hce/dc/internal/web/coding"
	"hce/dc/internal/web/content"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
	"hce/dc/warc"
)

// page is a capture as it is stored.
type page struct {
	url, key string
	at       time.Time // of the version, in milliseconds
	raw      []byte
	headers  []byte // nil: none; empty: no HTTP answer brought the body
	request  []byte // nil: none
	row      map[string]any
	md5      string // of the body before its conversion to UTF-8
}

// toPage converts a capture with a body. It returns a reason if it is no page.
func (c *capture) toPage() (*page, Reason) {
	declared, code, redirects := c.mimeType, int64(200), false
	if c.kind == warc.Response {
		var reason Reason
		if code, reason = c.pageCode(); reason != "" {
			return nil, reason
		}
		redirects = c.isRedirect(code)
	}
	if c.cut && !redirects { // of a redirect, the head says all
		return nil, Truncated
	}
	if c.kind == warc.Response {
		declared = strings.Join(fieldValues(c.head.Fields, "Content-Type"), ", ")
		if reason := c.decodeBody(); reason != "" && !c.cut {
			return nil, reason
		}
	}
	if len(c.body) == 0 && !redirects {
		return nil, Empty
	}
	kind, text, name := content.Sniff(declared, c.body), c.body, ""
	if content.IsText(kind) || content.IsXML(kind) {
		text, name, _ = charset.Decode(c.body, declared) // an error is a warning: the text is usable
	}
	p := c.newPage(kind, name, code)
	p.raw, p.md5 = c.body, wire.Md5(c.body)
	if content.IsText(kind) {
		p.raw = text
	}
	p.row["size"] = len(c.body)
	if redirects {
		p.raw = append([]byte{}, p.raw...) // not nil: an empty body is stored, too
		target, err := canonical.Web.Resolve(c.url, c.head.Fields.Get("Location"))
		if err != nil {
			return nil, BadURL
		}
		p.row["redirects"] = wire.RedirectsOf([]wire.Hop{{Code: code, URL: target}})
	}
	c.setMetadata(p)
	return p, ""
}

// pageCode returns the HTTP code of a page.
func (c *capture) pageCode() (int64, Reason) {
	words := strings.Fields(c.head.Start)
	if len(words) < 2 || !strings.HasPrefix(words[0], "HTTP/") {
		return 0, NoMessage
	}
	code, err := strconv.ParseInt(words[1], 10, 64)
	switch {
	case err != nil || code < 100 || code > 999:
		return 0, NoMessage
	case code/100 != 2 && !wire.IsPageCode(code) && !c.isRedirect(code):
		return 0, Reason("HTTP code " + words[1])
	}
	return code, ""
}

// isRedirect reports whether an answer leads to another URL.
func (c *capture) isRedirect(code int64) bool {
	return code/100 == 3 && c.head.Fields.Get("Location") != ""
}

// fieldValues returns the values of a field.
func fieldValues(fields warc.Fields, name string) (values []string) {
	for _, f := range fields {
		if strings.EqualFold(f.Name, name) {
			values = append(values, f.Value)
		}
	}
	return values
}

// decodeBody removes the codings of the body. Many archives keep the fields of codings that they have
// removed.
func (c *capture) decodeBody() Reason {
	if strings.Contains(strings.ToLower(c.head.Fields.Get("Transfer-Encoding")), "chunked") && aChunk.Match(c.body) {
		if reason := c.replaceBody(httputil.NewChunkedReader(bytes.NewReader(c.body))); reason != "" {
			return reason
		}
	}
	if codings := coding.Of(fieldValues(c.head.Fields, "Content-Encoding")); len(codings) > 0 && c.mayBeCoded(codings[len(codings)-1]) {
		r, release, err := coding.Decode(bytes.NewReader(c.body), codings, func(int64) error { return nil })
		if err != nil {
			return Undecoded
		}
		defer release()
		return c.replaceBody(r)
	}
	if len(c.body) > MaxBody {
		return TooLarge
	}
	return ""
}

// aChunk is the first line of a body in chunks (RFC 9112 7.1).
var aChunk = regexp.MustCompile(`^[0-9A-Fa-f]{1,16}[ \t]*(;[^\n]*)?\r?\n`)

// mayBeCoded reports whether the body can be in a coding. Those without a magic number never give UTF-8.
func (c *capture) mayBeCoded(name string) bool {
	switch name {
	case "gzip":
		return bytes.HasPrefix(c.body, []byte("\x1f\x8b"))
	case "zstd":
		return bytes.HasPrefix(c.body, []byte("\x28\xb5\x2f\xfd"))
	}
	return !utf8.Valid(c.body)
}

// replaceBody makes what r reads the body.
func (c *capture) replaceBody(r io.Reader) Reason {
	body, err := io.ReadAll(io.LimitReader(r, MaxBody+1))
	switch {
	case err != nil:
		return Undecoded
	case len(body) > MaxBody:
		return TooLarge
	}
	c.body = body
	return ""
}

// newPage returns a page with the values that do not depend on the body.
func (c *capture) newPage(kind, charset string, code int64) *page {
	p := &page{url: c.url, key: c.key, at: c.at, row: map[string]any{
		"contentType": cutText(kind, 255), "charset": cutText(charset, 64), "httpCode": code, "httpMethod": "get", "UDate": dateLiteral(c.at), "tcDate": dateLiteral(c.at),
	}}
	if len(c.head.Fields) > 0 {
		p.headers = fieldLines(c.head)
		if usual := fmt.Sprintf("HTTP/1.1 %d %s", code, http.StatusText(int(code))); c.kind != warc.Resource && c.head.Start != usual {
			p.headers = append([]byte(cleanStatusLine(c.head.Start)+"\r\n"), p.headers...)
		}
	}
	if c.kind == warc.Resource {
		p.headers = []byte{}
	}
	if c.request.Start != "" {
		p.request = append([]byte(c.request.Start+"\r\n"), fieldLines(c.request)...)
	}
	if at, ok := content.ParseDate(c.head.Fields.Get("Last-Modified")); ok {
		p.row["lastModified"] = dateLiteral(at)
	}
	return p
}

// cleanStatusLine makes a status line UTF-8 without controls.
func cleanStatusLine(line string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(line, "\uFFFD"))
}

func cutText(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// dateLiteral returns a date as a value of an SQL expression.
func dateLiteral(at time.Time) string { return "'" + string(schema.DateOf(at)) + "'" }

// originally begins the names of fields that an archive has renamed, because they do not fit the body
// that it has.
const originally = "X-Archive-Orig-"

// fieldLines returns the fields of a head as the crawler stores them, with their original names.
func fieldLines(m warc.Message) []byte {
	renamed := map[string]bool{}
	for _, f := range m.Fields {
		if name, ok := strings.CutPrefix(f.Name, originally); ok {
			renamed[strings.ToLower(name)] = true
		}
	}
	var lines []byte
	for _, f := range m.Fields {
		if !renamed[strings.ToLower(f.Name)] {
			lines = warc.AppendField(lines, strings.TrimPrefix(f.Name, originally), strings.ToValidUTF8(f.Value, "\uFFFD"))
		}
	}
	return lines
}

var keyForm = regexp.MustCompile(`^[0-9a-f]{32}$`)

// setMetadata sets the values that the metadata of package export has.
func (c *capture) setMetadata(p *page) {
	isOther := p.row["redirects"] != nil && c.values.Get("httpCode") != fmt.Sprint(p.row["httpCode"]) // they are of the page behind the redirect
	if charset := c.values.Get("charset"); charset != "" && !isOther {
		p.row["charset"] = cutText(charset, 64)
	}
	if sum := c.values.Get("contentMd5"); keyForm.MatchString(sum) && !isOther {
		p.md5 = sum
	}
	if parent := c.values.Get("parentMd5"); keyForm.MatchString(parent) {
		p.row["parentMd5"] = parent
	}
	for name, field := range map[string]string{"depth": "depth", "size": "size", "milliseconds": "crawlingTime", "errorMask": "errorMask"} {
		if n, err := strconv.ParseInt(c.values.Get(name), 10, 53); err == nil && n >= 0 && !(isOther && name == "size") {
			p.row[field] = n
		}
	}
	for name, field := range map[string]string{"found": "CDate", "crawled": "UDate", "modified": "lastModified"} {
		if at, err := time.Parse(time.RFC3339, c.values.Get(name)); err == nil {
			p.row[field] = dateLiteral(at)
		}
	}
}

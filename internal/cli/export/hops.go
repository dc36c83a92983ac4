package export

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"hce/dc/internal/cli/pages"
	"hce/dc/internal/web/charset"
	"hce/dc/internal/web/content"
	"hce/dc/internal/wire"
	"hce/dc/warc"
)

// writeRedirects writes the records of the redirects of a page. It returns the id of the first one, "" without one.
func (a *archive) writeRedirects(p *pages.Page) (first string, err error) {
	for i := range p.Answers {
		c := capture{Page: p, uri: warc.URI(p.Answers[i].URL), at: p.Answers[i].At, hop: strconv.Itoa(i + 1)}
		r := c.redirectRecord(&p.Answers[i])
		if r == nil {
			continue
		}
		if err := a.writeCapture(c, r); err != nil {
			return "", err
		}
		if first == "" {
			first = r.ID
		}
		m, _ := warc.ParseMessage([]byte(p.Answers[i].Request))
		if m.Start == "" {
			continue
		}
		q := c.newRecord(warc.Request, warc.RequestType, r.ID)
		q.Head = publicHead(m).Append(nil)
		if err := a.writeRecord(q); err != nil {
			return "", err
		}
	}
	return first, nil
}

// redirectRecord returns the record of a redirect, nil for a page whose body is not known: it would be shown
// empty.
func (c capture) redirectRecord(h *wire.HopAnswer) *warc.Record {
	m, _ := warc.ParseMessage([]byte(h.Head))
	words := strings.Fields(m.Start)
	if len(words) < 2 || h.Cut && !strings.HasPrefix(words[1], "3") {
		return nil
	}
	r := c.newRecord(warc.Response, warc.ResponseType, "")
	r.Head, r.Payload = publicAnswer(m).Append(nil), h.Body
	if len(h.Body) > 0 {
		r.PayloadDigest = warc.Digest(h.Body)
	}
	if h.Cut {
		r.Fields = append(r.Fields, warc.Field{Name: warc.FieldTruncated, Value: "length"})
	}
	return r
}

// added are the fields that the crawler adds to a stored head, behind those of the server
// (docs/spec/processing.md 2.2), in their order. net/http writes the names of a server in another way.
var added = []string{"X-feed_url", "X-pubdateRssFeed", "X-base_url"}

// sentFields returns the fields that the server has sent.
func sentFields(fields warc.Fields) warc.Fields {
	end := len(fields)
	for i := len(fields) - 1; i >= 0; i-- {
		if fields[i].Name == added[2] {
			end = i // the field Location that may follow was added, too
			break
		}
	}
	for end < len(fields) && end > 0 && (fields[end-1].Name == added[0] || fields[end-1].Name == added[1]) {
		end--
	}
	return fields[:end:end]
}

// asSent returns the capture with the body that the server sent, if that is known, else with one in UTF-8
// that says so.
func (c capture) asSent() capture {
	if wire.Md5(c.Raw) == c.RawContentMd5 && !c.isConverted() {
		c.sent = true
		return c
	}
	p := *c.Page
	c.Page = &p
	for _, body := range charset.Encode(c.Raw, c.Charset) {
		if wire.Md5(body) == c.RawContentMd5 && !bytes.Equal(body, c.Raw) {
			p.Raw, c.sent = body, true
			return c
		}
	}
	if isHTML(c.ContentType) {
		p.Raw = charset.DeclareUTF8(c.Raw)
	}
	return c
}

// isConverted reports whether a body is a text in UTF-8 whose page has another charset. A browser gives
// such bodies, also as what it received.
func (c capture) isConverted() bool {
	return content.IsText(c.ContentType) && !strings.EqualFold(c.Charset, "utf-8") && utf8.Valid(c.Raw) && !charset.IsASCII(c.Raw)
}

// isCut reports whether the body of an imported redirect is not known as a whole, as fields of its head say.
func (c capture) isCut(fields warc.Fields) bool {
	n, err := strconv.Atoi(fields.Get("Content-Length"))
	return err == nil && isRedirect(c.HTTPCode) && n > len(c.Raw) && fields.Get("Content-Encoding") == ""
}

// isRedirect reports whether a row is a redirect itself, as an import stores it.
func isRedirect(code int64) bool { return code > 300 && code < 400 && code != 304 }

package export

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/web/content"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/secret"
	"hce/dc/warc"
)

// archive writes WARC records: for each page a response, or a revisit if an earlier response has the
// same body, the request, and metadata with the values of the row. The ids of records depend on the
// site, the page and its date only.
type archive struct {
	buffer *bufio.Writer
	w      *warc.Writer
	recent recent
	// written, if not nil, is called for each response, resource and revisit that is written.
	written func(c capture, r *warc.Record, place warc.Place) error
}

func newWARC(out Output, _ Settings) (Writer, error) {
	o := warc.Options{Gzip: filepath.Ext(out.Name) == ".gz"}
	if out.Prior != nil {
		o.Offset = out.Prior.Size()
		return newArchive(out.W, o), nil
	}
	a := newArchive(out.W, o)
	return a, a.beginFile()
}

func newArchive(out io.Writer, o warc.Options) *archive {
	buffer := bufio.NewWriter(out)
	return &archive{buffer: buffer, w: warc.NewWriter(buffer, o), recent: recent{by: map[string]original{}}}
}

// beginFile writes the first record of a file.
func (a *archive) beginFile() error {
	return a.writeRecord(&warc.Record{Type: warc.Info, Date: time.Now(), ContentType: warc.FieldsType, Payload: []byte(
		"software: HCE Distributed Crawler\r\nformat: WARC File Format 1.1\r\n" +
			"conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n")})
}

func (a *archive) Flush() error { return a.buffer.Flush() }
func (a *archive) End() error   { return a.buffer.Flush() }

// writeRecord writes a record.
func (a *archive) writeRecord(r *warc.Record) error {
	_, err := a.w.Write(r)
	return err
}

// Page writes the records of a page. A URL that was never fetched has none.
func (a *archive) Page(p *pages.Page) error {
	if p.Crawled == 0 && p.Raw == nil {
		return nil
	}
	first, err := a.writeRedirects(p)
	if err != nil {
		return err
	}
	c := capture{Page: p, uri: warc.URI(p.URL.URL), at: dateOf(p)}
	if hops := p.Hops(); len(hops) > 0 && !isRedirect(p.HTTPCode) {
		c.uri = warc.URI(canonical.WithoutFragment(hops[len(hops)-1].URL))
	}
	if p.Raw != nil && (!p.LeadsToPage || isRedirect(p.HTTPCode)) {
		id, err := a.writeAnswer(c)
		if err != nil {
			return err
		}
		first = cmp.Or(first, id)
	}
	c.uri = warc.URI(p.URL.URL)
	return a.writeRecord(c.metadataRecord(first))
}

// writeAnswer writes the records of the body and of its request. It returns the id of the first one.
func (a *archive) writeAnswer(c capture) (string, error) {
	r := c.responseRecord()
	if r.Type == warc.Response {
		a.recent.makeRevisit(r)
	}
	if err := a.writeCapture(c, r); err != nil || r.Type == warc.Resource {
		return r.ID, err
	}
	return r.ID, a.writeRecord(c.requestRecord(r.ID))
}

// writeCapture writes the record of an answer.
func (a *archive) writeCapture(c capture, r *warc.Record) error {
	place, err := a.w.Write(r)
	if err == nil && a.written != nil {
		err = a.written(c, r, place)
	}
	return err
}

// dateOf returns when the stored body was fetched: the time of its version, else that of the row.
func dateOf(p *pages.Page) time.Time {
	at, _ := cmp.Or(p.Stored, p.UDate, p.CDate).Time()
	return at
}

// capture is one fetch of a page.
type capture struct {
	*pages.Page
	uri  string
	at   time.Time
	sent bool   // Raw is what the server sent, without its codings
	hop  string // number of a redirect; "" for the page
}

// newRecord returns a record of the capture. The first one has no id of another.
func (c capture) newRecord(kind warc.Type, contentType, first string) *warc.Record {
	r := &warc.Record{Type: kind, ID: warc.IDOf(c.identityParts(kind)...), Date: c.at, TargetURI: c.uri, ContentType: contentType}
	if first != "" {
		r.Fields = warc.Fields{{Name: warc.FieldConcurrent, Value: first}}
	}
	return r
}

// identityParts identify a record of the capture.
func (c capture) identityParts(kind warc.Type) []string {
	parts := []string{string(kind), c.SiteID, c.URLMd5, c.at.Format(time.RFC3339Nano)}
	if c.hop != "" {
		parts = append(parts, c.hop)
	}
	return parts
}

// responseRecord returns the record of the body: a resource if no HTTP answer brought it, such as an entry
// of a feed, or what a client or an import supplied.
func (c capture) responseRecord() *warc.Record {
	if len(c.Headers) == 0 && len(c.Request) == 0 && (c.HTTPCode == 0 || c.Headers != nil) {
		r := c.newRecord(warc.Resource, cmp.Or(cleanField(c.ContentType), "application/octet-stream"), "")
		r.Payload = c.Raw
		return r
	}
	r := c.newRecord(warc.Response, warc.ResponseType, "")
	c = c.asSent()
	m := c.answerHead()
	if c.isCut(m.Fields) {
		r.Fields = append(r.Fields, warc.Field{Name: warc.FieldTruncated, Value: "length"})
	}
	r.Head, r.Payload = publicAnswer(m).Append(nil), c.Raw
	return r
}

// originally begins the names of header fields whose value was that of the body as it was sent.
const originally = "X-Archive-Orig-"

// answerHead returns the head of the answer as it fits the stored body, which has no coding and is in
// UTF-8 if it is text. Fields that do not fit are renamed.
func (c capture) answerHead() warc.Message {
	m, _ := warc.ParseMessage(c.Headers)
	m.Fields = sentFields(m.Fields)
	if !strings.HasPrefix(m.Start, "HTTP/") {
		code := c.HTTPCode
		if c.Outdated() != "" || code/100 != 2 && !wire.IsPageCode(code) && !isRedirect(code) {
			code = 200 // a later fetch had that code, and brought no page
		}
		m.Start = fmt.Sprintf("HTTP/1.1 %d %s", code, reasons[code])
	}
	length, kind := fmt.Sprint(len(c.Raw)), c.typeField(m.Fields.Get("Content-Type"))
	for i, f := range m.Fields {
		fits := true
		switch strings.ToLower(f.Name) {
		case "content-encoding", "transfer-encoding":
			fits = false
		case "content-length":
			fits = f.Value == length || c.isCut(m.Fields)
		case "content-type":
			fits = f.Value == kind
		}
		if !fits {
			m.Fields[i].Name = originally + f.Name
		}
	}
	known := c.sent && c.Headers != nil // a server that sent none leaves the type to the reader
	if kind != "" && m.Fields.Get("Content-Type") == "" && !known {
		m.Fields = append(m.Fields, warc.Field{Name: "Content-Type", Value: kind})
	}
	if m.Fields.Get("Content-Length") == "" && (c.Headers == nil || m.Fields.Get(originally+"Content-Length") != "") {
		m.Fields = append(m.Fields, warc.Field{Name: "Content-Length", Value: length})
	}
	return m
}

// reasons are the reasons of codes that pages have; others get none, as HTTP allows.
var reasons = map[int64]string{
	200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 206: "Partial Content", 300: "Multiple Choices",
	301: "Moved Permanently", 302: "Found", 303: "See Other", 307: "Temporary Redirect", 308: "Permanent Redirect",
}

// typeField returns the field Content-Type of the stored body.
func (c capture) typeField(declared string) string {
	declared = cleanField(declared)
	charset, named := charsetOf(declared)
	switch {
	case !content.IsText(c.ContentType) || named && charset == "utf-8":
		return cmp.Or(declared, cleanField(c.ContentType))
	case c.sent, !named && strings.EqualFold(c.Charset, "utf-8") && declared != "":
		return cmp.Or(declared, cleanField(c.ContentType)) // the page says it itself
	}
	return cmp.Or(content.Normal(declared), cleanField(c.ContentType)) + "; charset=utf-8"
}

// charsetOf returns the charset of a Content-Type in lower case.
func charsetOf(declared string) (charset string, named bool) {
	_, after, named := strings.Cut(strings.ToLower(declared), "charset=")
	charset, _, _ = strings.Cut(after, ";")
	return strings.Trim(charset, ` "'`), named
}

// cleanField removes what cannot be in a field.
func cleanField(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return -1
		}
		return c
	}, text)
}

// requestRecord returns the record of the request: the stored one, else its method and host.
func (c capture) requestRecord(first string) *warc.Record {
	m, _ := warc.ParseMessage(c.Request)
	u := canonical.Split(c.uri)
	words := strings.Fields(m.Start)
	if len(words) < 2 {
		words = []string{cmp.Or(strings.ToUpper(cleanField(c.HTTPMethod)), "GET"), u.Request()}
		m.Fields = warc.Fields{{Name: "Host", Value: u.Host}}
	}
	m.Start = words[0] + " " + words[1] + " HTTP/1.1"
	r := c.newRecord(warc.Request, warc.RequestType, first)
	r.Head = publicHead(m).Append(nil)
	return r
}

// publicAnswer returns the head of an answer without the values of cookies and others that open a session.
func publicAnswer(m warc.Message) warc.Message {
	for i, f := range m.Fields {
		m.Fields[i].Value = secret.ShowAnswerField(f.Name, f.Value)
	}
	return m
}

// publicHead returns the head of a request without what may be secret, and without its body.
func publicHead(m warc.Message) warc.Message {
	kept := m.Fields[:0]
	for _, f := range m.Fields {
		if secret.IsPublicField(f.Name) {
			if name := strings.ToLower(f.Name); name == "content-length" || name == "transfer-encoding" { // the body of a request is not stored
				f.Name = originally + f.Name
			}
			kept = append(kept, f)
		}
	}
	m.Fields = kept
	return m
}

// metadataFields are the columns of the row in a metadata record, in addition to errorMask.
var metadataFields = []string{"site", "urlMd5", "parentMd5", "depth", "status", "httpCode", "contentType", "charset", "size", "contentMd5", "found", "crawled", "modified", "milliseconds", "errors"}

// metadataRecord returns the record of the values of the row. They have the names of the fields of jsonl.
func (c capture) metadataRecord(first string) *warc.Record {
	var b strings.Builder
	for _, name := range metadataFields {
		switch v := fieldOf(name).value(c.Page, Settings{}).(type) {
		case nil:
		case []string:
			fmt.Fprintf(&b, "%s: %s\r\n", name, strings.Join(v, " "))
		default:
			fmt.Fprintf(&b, "%s: %s\r\n", name, cleanField(fmt.Sprint(v)))
		}
	}
	fmt.Fprintf(&b, "errorMask: %d\r\n", int64(c.ErrorMask))
	r := c.newRecord(warc.Metadata, warc.FieldsType, first)
	r.Payload = []byte(b.String())
	return r
}

// recentMost bounds the bodies that a revisit can refer to.
const recentMost = 4096

// original is a response that a revisit refers to.
type original struct {
	id, uri string
	at      time.Time
}

// recent are the last responses by the digest of their bodies. An export that is continued begins
// without them: then a body may be written once more.
type recent struct {
	by    map[string]original
	order [recentMost]string
	next  int
}

// makeRevisit makes a response a revisit if one of the recent responses has its body, else it remembers it.
func (t *recent) makeRevisit(r *warc.Record) {
	if len(r.Payload) == 0 {
		return
	}
	r.PayloadDigest = warc.Digest(r.Payload)
	of, known := t.by[r.PayloadDigest]
	if !known {
		delete(t.by, t.order[t.next])
		t.order[t.next] = r.PayloadDigest
		t.next = (t.next + 1) % recentMost
		t.by[r.PayloadDigest] = original{r.ID, r.TargetURI, r.Date}
		return
	}
	r.Type, r.Payload = warc.Revisit, nil
	r.Fields = append(r.Fields,
		warc.Field{Name: warc.FieldProfile, Value: warc.SamePayload}, warc.Field{Name: warc.FieldRefersTo, Value: of.id},
		warc.Field{Name: warc.FieldRefersToURI, Value: of.uri}, warc.Field{Name: warc.FieldRefersToDate, Value: warc.FormatDate(of.at)})
}

package pages

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/cli/service"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/dates"
	"hce/dc/internal/web/datetext"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/result"
	"hce/dc/internal/wire/schema"
)

// Needs says which contents a reader fetches, in addition to the row.
type Needs uint

// Contents of a page.
const (
	Processed Needs = 1 << iota // title, text and so on
	Raw                         // the page as received
	Headers                     // of the answer
	Requests                    // the request that was sent
	Hops                        // the redirects on the way to the page
)

const (
	rowsAtOnce     = 100
	contentsAtOnce = 50
	bytesAtOnce    = 4 << 20 // of raw pages, unless one page is larger
)

// Reader reads the pages of a site.
type Reader struct {
	Service service.Service
	Site    string
	Where   string // condition on columns, in the MySQL dialect; "" for all
	Needs   Needs
	Tags    []string // of the processed values, which are fetched alone; nil: all
	// Damaged is told of each page whose stored content is damaged. Read leaves it out and goes on. If
	// Damaged is nil, such a page ends Read.
	Damaged func(row *wire.URL, err error)
}

// Page is one stored URL of a site.
type Page struct {
	wire.URL
	// Result has the processed values; nil if the page is not processed or Processed is not needed.
	Result *result.Result
	// Raw, Headers and Request are nil if they are not stored or not needed.
	Raw, Headers, Request []byte
	// Answers are those of the redirects, nil without redirects, and if they are not stored or not needed.
	Answers []wire.HopAnswer
	// Referrers are the links to the URL as JSON objects (package referrers); only an export that asks sets them.
	Referrers []json.RawMessage
	// LeadsToPage: the URL redirects to another one that is a page of the site itself.
	LeadsToPage bool
	Stored      schema.Date // time of the version that Raw is, with milliseconds; "" without Raw

	confirmed bool // row and contents are of one moment
}

// Text returns a processed value such as title or content_encoded, "" without one.
func (p *Page) Text(name string) string {
	if p.Result == nil {
		return ""
	}
	if p.Type == wire.TypeFetched { // an entry of a feed: its document has markup, and an escaped link
		if plain := p.Result.First(name + result.PlainSuffix); plain != "" {
			return plain
		}
		if name == "link" {
			return strings.ReplaceAll(p.Result.First(name), "&amp;", "&")
		}
	}
	return p.Result.First(name)
}

// Texts returns all values of a processed tag such as links, none without it.
func (p *Page) Texts(name string) []string {
	if p.Result == nil {
		return nil
	}
	if t := p.Result.Tag(name); t != nil {
		return t.Data
	}
	return nil
}

// Outdated says why the content is not what the server has now: "gone" if its last answer was 404 or 410,
// "failed" if the last fetch failed in another way. It is "" for a current content, and without one.
func (p *Page) Outdated() string {
	switch {
	case p.ContentDate == "" || p.Status == wire.StatusNew || p.ErrorMask&wire.FailedFetch == 0 && wire.HasContentCode(p.HTTPCode):
		return ""
	case p.HTTPCode == 404 || p.HTTPCode == 410:
		return "gone"
	}
	return "failed"
}

// Published returns when the page was published, as it states it; zero without Result and if it does not
// say so. PDate of the row is another thing: it may be the time of the fetch or of the last change.
func (p *Page) Published() dates.Value {
	switch {
	case p.Result == nil || p.Result.Assumed:
		return dates.Value{}
	case p.Result.Published != "":
		v, _ := dates.ParseISO(p.Result.Published)
		return v
	case p.Type == wire.TypeFetched && p.Text("pubdate") == "": // an entry of a feed
		v, _ := datetext.Read(p.Text("published"), datetext.Options{})
		return v
	}
	return dates.Stored(p.Text("pubdate"), p.Text("pubdate_tz"))
}

// Modified returns when the page was last changed, as it or the header Last-Modified of its answer states
// it. It needs Processed and Headers; what is missing states nothing. LastModified of the row is another
// thing: it may be the time of the fetch.
func (p *Page) Modified() dates.Value {
	if p.Result != nil {
		if v, ok := dates.ParseISO(p.Result.Modified); ok {
			return v
		}
	}
	if p.Type == wire.TypeFetched { // an entry of a feed; the headers are those of the feed
		v, _ := datetext.Read(p.Text("updated"), datetext.Options{})
		return v
	}
	changed, ok := content.ParseDate(p.headerValue("Last-Modified"))
	sent, known := content.ParseDate(p.headerValue("Date"))
	if !ok || !known || sent.Sub(changed) < leastAge {
		return dates.Value{}
	}
	return dates.InstantOf(changed)
}

// leastAge is the least age of a page whose Last-Modified counts. A server that makes the page for each
// request says now.
const leastAge = 2 * time.Second

// headerValue returns the first value of a header of the answer, "" without one.
func (p *Page) headerValue(name string) string {
	for _, value := range p.HeaderValues(name) {
		return value
	}
	return ""
}

// HeaderValues returns the values of a header of the answer.
func (p *Page) HeaderValues(name string) (values []string) {
	for line := range bytes.Lines(p.Headers) {
		key, value, ok := bytes.Cut(line, []byte(":"))
		if ok && strings.EqualFold(string(bytes.TrimSpace(key)), name) {
			values = append(values, string(bytes.TrimSpace(value)))
		}
	}
	return values
}

// Read calls each for every page with a key greater than after; "" starts at the first one. Row and
// contents of a page are of one moment. portion, if not nil, is called after each portion with the
// key of its last page: reading may continue there. An error of a call ends the reading.
func (r Reader) Read(ctx context.Context, after string, each func(*Page) error, portion func(last string) error) error {
	for {
		rows, err := r.readRows(ctx, after, rowsAtOnce)
		if err != nil || len(rows) == 0 {
			return err
		}
		for start := 0; start < len(rows); {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			n := r.rowsPerRequest(rows[start:])
			list, err := r.readPages(ctx, rows[start:start+n])
			if err == nil {
				err = r.findTargets(ctx, list)
			}
			if err != nil {
				return err
			}
			for i := range list {
				if err := each(&list[i]); err != nil {
					return err
				}
			}
			start += n
			after = rows[start-1].URLMd5
			if portion != nil {
				if err := portion(after); err != nil {
					return err
				}
			}
		}
		if len(rows) < rowsAtOnce {
			return nil
		}
	}
}

// readRows returns the rows behind a key.
func (r Reader) readRows(ctx context.Context, after string, most int) ([]wire.URL, error) {
	return Rows(ctx, r.Service, r.Site, r.keyCondition("`URLMd5` > '"+after+"'"), "`URLMd5` ASC", most)
}

func (r Reader) keyCondition(keys string) string {
	if r.Where == "" {
		return keys
	}
	return keys + " AND (" + r.Where + ")"
}

// readPages returns the pages of rows. A crawl may store another version of a page between its row and
// its contents: rows that have changed meanwhile are read again, with their contents, and those that
// have gone are left out.
func (r Reader) readPages(ctx context.Context, rows []wire.URL) ([]Page, error) {
	list, err := r.readContents(ctx, rows)
	if r.Needs == 0 || err != nil {
		return list, err
	}
	at := make(map[string]int, len(list))
	for i := range list {
		at[list[i].URLMd5] = i
	}
	gone, damaged, check := map[string]bool{}, map[string]bool{}, rows
	if r.asksTagsOnly() {
		check = unconfirmedRows(list)
	}
	for len(check) > 0 {
		var keys []string
		for i := range check {
			keys = append(keys, "'"+check[i].URLMd5+"'")
			gone[check[i].URLMd5] = true
		}
		now, err := Rows(ctx, r.Service, r.Site, r.keyCondition("`URLMd5` IN ("+strings.Join(keys, ",")+")"), "", len(keys))
		if err != nil {
			return nil, err
		}
		check = nil
		for i := range now {
			delete(gone, now[i].URLMd5)
			if j, read := at[now[i].URLMd5]; read && versionKey(now[i]) != versionKey(list[j].URL) {
				check = append(check, now[i])
			}
		}
		again, err := r.readContents(ctx, check)
		if err != nil {
			return nil, err
		}
		for i := range check {
			damaged[check[i].URLMd5] = true
		}
		for i := range again {
			delete(damaged, again[i].URLMd5)
			list[at[again[i].URLMd5]] = again[i]
		}
	}
	return slices.DeleteFunc(list, func(p Page) bool { return gone[p.URLMd5] || damaged[p.URLMd5] }), nil
}

// asksTagsOnly reports whether a reader asks for tags and for nothing else. The service reads the row after these.
func (r Reader) asksTagsOnly() bool { return r.Needs == Processed && len(r.Tags) > 0 }

// unconfirmedRows returns the rows that were another version when their contents were read. Those that were never fetched
// have none.
func unconfirmedRows(list []Page) (rows []wire.URL) {
	for i := range list {
		if !list[i].confirmed && list[i].Crawled > 0 {
			rows = append(rows, list[i].URL)
		}
	}
	return rows
}

// versionKey changes with each fetch and each processing of a page.
func versionKey(u wire.URL) [4]any { return [4]any{u.Status, u.Crawled, u.Processed, u.RawContentMd5} }

// Query selects rows of a site.
type Query struct {
	Site  string
	Where string // condition on columns, in the MySQL dialect
	Order string // "" for any
	Most  int
}

// Rows returns at most most rows of a site that match a condition.
func Rows(ctx context.Context, service service.Service, site, where, order string, most int) ([]wire.URL, error) {
	return RowsOf(ctx, service, []Query{{site, where, order, most}})
}

// RowsOf returns the rows of all queries, in one request; none without a query.
func RowsOf(ctx context.Context, service service.Service, queries []Query) (rows []wire.URL, err error) {
	if len(queries) == 0 {
		return nil, nil
	}
	var requests []any
	for _, q := range queries {
		requests = append(requests, map[string]any{
			"sitesList": []string{q.Site}, "sitesCriterions": map[string]any{"WHERE": "1=1"},
			// Without ORDER BY the rows would have the order of their dates, which may read the whole site.
			"urlsCriterions": map[string]any{"WHERE": q.Where, "ORDER BY": q.Order, "LIMIT": q.Most},
			"maxURLs":        q.Most, "algorithm": 0, "isLocking": false, "attributeNames": []string{},
		})
	}
	err = service.Ask(ctx, wire.URLFetch, requests, &rows)
	return rows, err
}

// Sample is a query for most crawled pages of a site, from a random key on: the index of the keys gives
// them at once. of is about the number of crawled pages; behind the key there are enough of them.
func Sample(site string, of int64, most int) Query {
	var from string
	if int64(most) < of {
		share := rand.Float64() * (1 - float64(most)/float64(of)) // of the keys, before the first page
		from = fmt.Sprintf("%08x", uint32(share*(1<<32)))
	}
	return Query{site, "`URLMd5`>'" + from + "' AND `Crawled`>0", "`URLMd5` ASC", most}
}

// rowsPerRequest returns how many rows one request for contents takes.
func (r Reader) rowsPerRequest(rows []wire.URL) int {
	if r.Needs == 0 {
		return len(rows)
	}
	n, sum := 0, int64(0)
	for n < len(rows) && n < contentsAtOnce && (n == 0 || sum+rows[n].Size <= bytesAtOnce) {
		sum += rows[n].Size
		n++
	}
	return n
}

// typeMask returns the contentTypeMask of URL_CONTENT.
func (n Needs) typeMask() (mask int) {
	if n&Processed != 0 {
		mask |= wire.MaskProcessed
	}
	if n&(Raw|Headers|Requests|Hops) != 0 {
		mask |= wire.MaskRaw | wire.MaskRawLast
	}
	if n&Headers != 0 {
		mask |= wire.MaskHeaders
	}
	if n&Requests != 0 {
		mask |= wire.MaskRequests
	}
	if n&Hops != 0 {
		mask |= wire.MaskHops
	}
	return mask
}

// answer is the part of URLContentResponse that a page takes.
type answer struct {
	URLMd5    string            `json:"urlMd5"`
	Raw       []wire.Content    `json:"rawContents"`
	Processed []json.RawMessage `json:"processedContents"`
	Headers   []*wire.Content   `json:"headers"`
	Requests  []*wire.Content   `json:"requests"`
	Hops      []*wire.Content   `json:"hops"`
	Row       struct {
		Status, Crawled, Processed int64
		RawContentMd5              string
	} `json:"dbFields"`
	Error string `json:"errorMessage"`
}

// damageError returns the error about a damaged content, nil without one.
func (a answer) damageError() error {
	if a.Error == "" {
		return nil
	}
	return errors.New(a.Error)
}

// readContents returns the pages of rows. A row that was deleted meanwhile has no contents.
func (r Reader) readContents(ctx context.Context, rows []wire.URL) ([]Page, error) {
	list := make([]Page, len(rows))
	var requests []any
	at := map[string]int{}
	for i := range rows {
		list[i].URL = rows[i]
		at[rows[i].URLMd5] = i
		if rows[i].Crawled > 0 {
			request := map[string]any{
				"siteId": r.Site, "url": rows[i].URL, "urlMd5": rows[i].URLMd5, "contentTypeMask": r.Needs.typeMask(),
				"attributeNames": []string{}, "dbFieldsList": []string{"Status"},
			}
			if len(r.Tags) > 0 && r.Needs&Processed != 0 {
				request["tagNames"], request["dbFieldsList"] = r.Tags, []string{"Status", "Crawled", "Processed", "RawContentMd5"}
			}
			requests = append(requests, request)
		}
	}
	if r.Needs == 0 || len(requests) == 0 {
		return list, nil
	}
	var answers []answer
	if err := r.Service.Ask(ctx, wire.URLContent, requests, &answers); err != nil {
		return nil, err
	}
	damaged := map[string]bool{}
	for _, a := range answers {
		i, known := at[a.URLMd5]
		if !known {
			continue
		}
		if err := a.damageError(); err != nil {
			if r.Damaged == nil {
				return nil, fmt.Errorf("content of %s: %w", list[i].URL.URL, err)
			}
			r.Damaged(&rows[i], err)
			damaged[a.URLMd5] = true
			continue
		}
		list[i].confirmed = versionKey(wire.URL{Status: a.Row.Status, Crawled: a.Row.Crawled, Processed: a.Row.Processed, RawContentMd5: a.Row.RawContentMd5}) == versionKey(list[i].URL)
		if err := list[i].setContents(a, r.Needs); err != nil {
			return nil, fmt.Errorf("content of %s: %w", list[i].URL.URL, err)
		}
	}
	return slices.DeleteFunc(list, func(p Page) bool { return damaged[p.URLMd5] }), nil
}

// setContents sets the contents of a page.
func (p *Page) setContents(a answer, needs Needs) (err error) {
	if len(a.Processed) > 0 && needs&Processed != 0 {
		var c wire.Content
		if err := json.Unmarshal(a.Processed[0], &c); err != nil {
			return err
		}
		text, err := base64.StdEncoding.DecodeString(c.Buffer)
		if err != nil {
			return err
		}
		decoded := result.Decode(text)
		p.Result = &decoded.Default
	}
	if len(a.Raw) > 0 && needs&Raw != 0 {
		if p.Raw, err = base64.StdEncoding.DecodeString(a.Raw[0].Buffer); err != nil {
			return err
		}
		p.Stored = schema.Date(a.Raw[0].CDate)
	}
	if len(a.Headers) > 0 && a.Headers[0] != nil {
		if p.Headers, err = base64.StdEncoding.DecodeString(a.Headers[0].Buffer); err != nil {
			return err
		}
	}
	if len(a.Requests) > 0 && a.Requests[0] != nil {
		if p.Request, err = base64.StdEncoding.DecodeString(a.Requests[0].Buffer); err != nil {
			return err
		}
	}
	if len(a.Hops) > 0 && a.Hops[0] != nil {
		text, err := base64.StdEncoding.DecodeString(a.Hops[0].Buffer)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, &p.Answers)
	}
	return nil
}

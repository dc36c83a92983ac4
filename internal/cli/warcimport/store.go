package warcimport

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/web/charset"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
	"hce/dc/warc"
)

const (
	pagesAtOnce = 50
	bytesAtOnce = 4 << 20 // of bodies, unless one is larger
)

// store collects pages of a site and stores them in portions.
type store struct {
	service service.Service
	site    string
	roots   []string // keys of the root URLs
	done    *Summary

	waiting []*page // of different URLs
	keys    map[string]bool
	bytes   int
}

// addPage adds a page, and stores the portion if it is full or has another version of the page.
func (s *store) addPage(ctx context.Context, p *page) error {
	if s.keys[p.key] || len(s.waiting) > 0 && s.bytes+len(p.raw) > bytesAtOnce || len(s.waiting) == pagesAtOnce {
		if err := s.storePortion(ctx); err != nil {
			return err
		}
	}
	s.waiting, s.keys[p.key], s.bytes = append(s.waiting, p), true, s.bytes+len(p.raw)
	return nil
}

// storePortion stores the portion: first the contents, then the rows. If it is interrupted between them, the
// next import puts the same versions again.
func (s *store) storePortion(ctx context.Context) error {
	list := s.waiting
	s.waiting, s.keys, s.bytes = nil, map[string]bool{}, 0
	if len(list) == 0 {
		return nil
	}
	rows, err := s.storedRows(ctx, list)
	if err != nil {
		return err
	}
	var contents, changes []any
	for _, p := range list {
		row, exists := rows[p.key]
		fate := fresh
		if exists && row.Crawled > 0 {
			if fate, err = s.compareVersions(ctx, p, row); err != nil {
				return err
			}
		}
		if fate == known {
			s.done.Known++
			continue
		}
		contents = append(contents, s.putElements(p)...)
		if fate == older {
			s.done.Versions++
			continue
		}
		if exists && row.Crawled > 0 {
			s.done.Versions++
		} else {
			s.done.Pages++
		}
		changes = append(changes, s.rowElement(p, row, exists))
	}
	return errors.Join(s.sendPut(ctx, contents), s.sendNew(ctx, changes))
}

// storedRows returns the stored rows of pages by key.
func (s *store) storedRows(ctx context.Context, list []*page) (map[string]wire.URL, error) {
	keys := make([]string, len(list))
	for i, p := range list {
		keys[i] = p.key
	}
	found, err := pages.Rows(ctx, s.service, s.site, "`URLMd5` IN ('"+strings.Join(keys, "','")+"')", "", len(keys))
	rows := make(map[string]wire.URL, len(found))
	for _, row := range found {
		rows[row.URLMd5] = row
	}
	return rows, err
}

// fate says what happens to a page whose URL has a page already.
type fate int

const (
	fresh fate = iota // it is the newest version
	older             // there is a newer version: the row stays
	known             // it is stored
)

// compareVersions compares a page with the stored versions of its URL. Another body of the same millisecond gets
// the next one as its date.
func (s *store) compareVersions(ctx context.Context, p *page, row wire.URL) (fate, error) {
	if redirects, _ := p.row["redirects"].(string); row.RawContentMd5 == p.md5 && (redirects == "" || redirects == row.Redirects) {
		return known, nil
	}
	list, err := pages.Versions(ctx, s.service, row)
	if err != nil {
		return fresh, err
	}
	result := fresh
	for {
		taken := false
		for _, v := range list {
			switch at := dateOf(v); {
			case bytes.Equal(v.Raw, p.raw) && (at.Equal(p.at) || at.Equal(p.at.Truncate(time.Second))): // older programs kept seconds
				return known, nil
			case at.Equal(p.at):
				taken = true
			}
		}
		if !taken {
			break
		}
		p.at = p.at.Add(time.Millisecond)
	}
	if slices.ContainsFunc(list, func(v pages.Version) bool { return dateOf(v).After(p.at) }) {
		result = older
	}
	return result, nil
}

// dateOf returns the date of a version.
func dateOf(v pages.Version) time.Time {
	at, _ := schema.Date(v.Stored).Time() // the service has written it
	return at
}

// putElements returns the elements of URL_PUT.
func (s *store) putElements(p *page) (list []any) {
	for _, c := range []struct {
		kind int
		data []byte
	}{{wire.ContentRaw, p.raw}, {wire.ContentHeaders, p.headers}, {wire.ContentRequests, p.request}} {
		if c.data != nil {
			list = append(list, map[string]any{
				"siteId": s.site, "urlMd5": p.key, "contentType": c.kind, "fileStorageSuffix": p.at.Format("20060102T150405.000Z"),
				"putDict": map[string]any{"data": base64.StdEncoding.EncodeToString(c.data)},
			})
		}
	}
	return list
}

// rowElement returns the element of URL_NEW. It also changes a row that exists.
func (s *store) rowElement(p *page, row wire.URL, exists bool) any {
	set := map[string]any{"siteId": s.site, "status": wire.StatusCrawled, "state": wire.URLEnabled, "crawled": row.Crawled + 1, "rawContentMd5": p.md5, "errorMask": 0}
	for name, value := range p.row {
		set[name] = value
	}
	object := map[string]any{"url": p.url, "urlMd5": p.key, "siteSelect": wire.SelectExplicit, "type": wire.TypeRegular}
	if exists {
		for _, name := range []string{"parentMd5", "depth", "CDate"} { // of the first time it was found
			delete(set, name)
		}
		set["urlMd5"] = p.key
		object["siteId"], object["urlUpdate"] = s.site, set
		return object
	}
	for name, value := range set {
		object[name] = value
	}
	switch _, given := object["parentMd5"]; {
	case slices.Contains(s.roots, p.key):
		object["parentMd5"], object["depth"] = "", 0
	case !given: // like a link of the root page; without a parent it would be a root URL
		object["parentMd5"], object["depth"] = s.roots[0], 1
	}
	return object
}

// sendPut sends URL_PUT.
func (s *store) sendPut(ctx context.Context, list []any) error {
	if len(list) == 0 {
		return nil
	}
	var answers []wire.URLPutResponse
	if err := s.service.Ask(ctx, wire.URLPut, list, &answers); err != nil {
		return err
	}
	for _, a := range answers {
		if a.ErrCode != wire.CodeOK {
			return fmt.Errorf("%s: %s", wire.URLPut, a.ErrMessage)
		}
	}
	if len(answers) != len(list) {
		return fmt.Errorf("%s: %d answers for %d contents", wire.URLPut, len(answers), len(list))
	}
	return nil
}

// sendNew sends URL_NEW.
func (s *store) sendNew(ctx context.Context, list []any) error {
	if len(list) == 0 {
		return nil
	}
	return s.service.Ask(ctx, wire.URLNew, list, nil)
}

// revisitPage makes the page of a revisit: the body is that of the version that it refers to.
func (s *store) revisitPage(ctx context.Context, c *capture) (*page, Reason, error) {
	if s.keys[c.revisit.key] {
		if err := s.storePortion(ctx); err != nil {
			return nil, "", err
		}
	}
	rows, err := s.storedRows(ctx, []*page{{key: c.revisit.key}})
	row, found := rows[c.revisit.key]
	if err != nil || !found || row.Crawled == 0 {
		return nil, NoOriginal, err
	}
	list, err := pages.Versions(ctx, s.service, row)
	if err != nil {
		return nil, "", err
	}
	v := c.revisitedVersion(list, row.Charset)
	if v == nil {
		return nil, NoOriginal, nil
	}
	if c.head.Start == "" && len(c.head.Fields) == 0 { // a revisit may leave the head out, too
		c.head, _ = warc.ParseMessage(v.Headers)
		c.head.Start = cmp.Or(c.head.Start, fmt.Sprintf("HTTP/1.1 %d %s", row.HTTPCode, http.StatusText(int(row.HTTPCode))))
	}
	code, reason := c.pageCode()
	if reason != "" {
		return nil, reason, nil
	}
	p := c.newPage(row.ContentType, row.Charset, code)
	p.raw, p.md5, p.row["size"] = v.Raw, wire.Md5(v.Raw), len(v.Raw)
	if v.Number == len(list) {
		p.md5, p.row["size"] = row.RawContentMd5, row.Size
	}
	c.setMetadata(p)
	return p, "", nil
}

// revisitedVersion returns the version that a revisit refers to, nil if it is not there: by its digest, its date, or
// as the newest one before the revisit. name is the charset of the newest version.
func (c *capture) revisitedVersion(list []pages.Version, name string) *pages.Version {
	for i, v := range list {
		m, _ := warc.ParseMessage(v.Headers)
		_, sent, _ := strings.Cut(strings.ToLower(m.Fields.Get("Content-Type")), "charset=")
		bodies := slices.Concat([][]byte{v.Raw}, charset.Encode(v.Raw, name), charset.Encode(v.Raw, strings.Trim(sent, `"' `)))
		if slices.ContainsFunc(bodies, func(body []byte) bool { return warc.HasDigest(c.revisit.digest, body) }) {
			return &list[i]
		}
	}
	for i := range list {
		if at := dateOf(list[i]); at.Equal(c.revisit.at) || at.Equal(c.revisit.at.Truncate(time.Second)) {
			return &list[i]
		}
	}
	if !c.revisit.at.IsZero() || len(list) == 0 {
		return nil
	}
	for i := len(list) - 1; i > 0; i-- {
		if !dateOf(list[i]).After(c.at) {
			return &list[i]
		}
	}
	return &list[0]
}

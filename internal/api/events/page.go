package events

import (
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/wire"
)

// goneVersion is the version of a page after page.gone.
const goneVersion = "-"

// versionOf is the version of the content of a row: the md5 of its body, the date of its last change, and its processings, which are used
// only if a row has neither of the others.
func versionOf(row *wire.URL) string {
	version := row.RawContentMd5 + "/" + strings.ReplaceAll(string(row.ContentDate), "/", "-")
	if version == "/" {
		return version + strconv.FormatInt(row.Processed, 10)
	}
	return version
}

// isOther reports whether two versions have different contents. A body that is sent again with other bytes is the same content if the
// rules of the site (DETECT_MODIFIED) say so: its date stays. A page that is read again in full gets another date for the same bytes.
func isOther(old, present string) bool {
	oldHash, oldDate, _ := strings.Cut(old, "/")
	hash, date, _ := strings.Cut(present, "/")
	sameHash := hash != "" && hash == oldHash
	return date != oldDate && !sameHash || date == "" && hash != oldHash
}

// isSettled reports whether the last crawl of a row has ended, and with it its processing.
func isSettled(row *wire.URL) bool {
	switch {
	case row.Resource() || row.Crawled == 0 || row.State == wire.URLDisabled:
		return false
	case row.Status == wire.StatusProcessed:
		return true
	}
	return row.Status == wire.StatusCrawled && !waitsForProcessing(row)
}

// waitsForProcessing is the part of wire.DueProcess that holds for each site.
func waitsForProcessing(row *wire.URL) bool {
	switch row.ContentType {
	case "text/html", "application/xhtml+xml", "text/json":
		return row.State == wire.URLEnabled && row.Type != wire.TypeFetched && row.Size > 0 && row.ErrorMask&wire.FailedFetch == 0 && wire.IsPageCode(row.HTTPCode)
	}
	return false
}

// hasContent reports whether the last answer of a settled row was a page.
func hasContent(row *wire.URL) bool {
	return row.State == wire.URLEnabled && row.ErrorMask&wire.FailedFetch == 0 && wire.HasContentCode(row.HTTPCode)
}

// isGone reports whether the server says that there is no such page.
func isGone(row *wire.URL) bool { return row.HTTPCode == 404 || row.HTTPCode == 410 }

// isFailed reports whether the last request of a row brought no answer, or one that says that the crawler is not wanted or comes too early.
func isFailed(row *wire.URL) bool {
	switch {
	case row.Retries > 0, row.HTTPCode >= 500:
		return true
	case row.HTTPCode == 401, row.HTTPCode == 403, row.HTTPCode == 407, row.HTTPCode == 429:
		return true
	}
	return row.HTTPCode == 0 && row.ErrorMask&wire.FailedFetch != 0
}

// addRow adds what a row tells, after the version that was told last.
func (c *change) addRow(row *wire.URL, last told, now time.Time) {
	if !isSettled(row) {
		return
	}
	if isGone(row) {
		if last.version != "" && last.version != goneVersion {
			c.put = append(c.put, told{row.URLMd5, goneVersion, row.URL})
			c.events = append(c.events, pageEvent(PageGone, row, now))
		}
		return
	}
	if !hasContent(row) {
		return
	}
	version, kind := versionOf(row), PageChanged
	switch {
	case last.version == "" || last.version == goneVersion:
		kind = PageNew
	case !isOther(last.version, version):
		return
	}
	c.put = append(c.put, told{row.URLMd5, version, row.URL})
	c.events = append(c.events, pageEvent(kind, row, now))
}

// addDeleted adds that a row is not there any more.
func (c *change) addDeleted(site string, last told, now time.Time) {
	c.remove = append(c.remove, last.key)
	if last.version != goneVersion {
		c.events = append(c.events, Event{Type: PageGone, Time: now, Data: EventData{Site: site, URL: last.url, Key: last.key, Reason: "deleted"}})
	}
}

func pageEvent(kind string, row *wire.URL, now time.Time) Event {
	d := EventData{Site: row.SiteID, URL: row.URL, Key: row.URLMd5, HTTPCode: row.HTTPCode}
	if kind == PageGone {
		d.Reason = "answer"
		return Event{Type: kind, Time: now, Data: d}
	}
	d.ContentType, d.Size, d.Hash = row.ContentType, row.Size, row.RawContentMd5
	if at, ok := row.ContentDate.Time(); ok {
		d.Changed = &at
	}
	return Event{Type: kind, Time: now, Data: d}
}

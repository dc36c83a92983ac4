package feed

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/apps/search"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/process/language"
	"hce/dc/internal/wire"
)

// isUsable reports whether a row has a version to index.
func isUsable(row *wire.URL, now time.Time) bool {
	return isCrawled(row) && unusableReason(row, now) == ""
}

// mustRemove reports whether the document of a row must go, whatever its last good version is.
func mustRemove(row *wire.URL, now time.Time) bool {
	return row.Resource() || hidingReason(row, now) != ""
}

// hidingReason returns how a page asks not to be found; "" if it does not.
func hidingReason(row *wire.URL, now time.Time) string {
	until, limited := row.UnavailableAfter.Time()
	switch {
	case row.RobotsMask&wire.RobotsNoIndex != 0:
		return "the page says noindex"
	case limited && !now.Before(until):
		return "the time of unavailable_after has come"
	}
	return ""
}

// isCrawled reports whether a row has an answer of a server, and is no part of a page such as a script.
func isCrawled(row *wire.URL) bool {
	return row.Crawled > 0 && !row.Resource() && (row.Status == wire.StatusCrawled || row.Status == wire.StatusProcessed)
}

// unusableReason returns why a crawled row has no version to index; "" if it has one.
func unusableReason(row *wire.URL, now time.Time) string {
	if reason := hidingReason(row, now); reason != "" {
		return reason
	}
	switch {
	case row.State == wire.URLDisabled:
		return "disabled"
	case !wire.HasContentCode(row.HTTPCode) || row.ErrorMask&wire.FailedFetch != 0:
		return "the last fetch failed"
	case search.KindOf(row.ContentType) == search.Pages && row.Processed == 0:
		return "not processed, or without content"
	}
	return ""
}

// rowVersion changes when the content of a row does, or its processing, or whether its copies may be shown.
func rowVersion(row *wire.URL) string {
	text := row.RawContentMd5 + "/" + strconv.FormatInt(row.Processed, 10)
	if row.RobotsMask&wire.RobotsNoArchive != 0 {
		text += "/noarchive"
	}
	return text
}

// indexDocument returns what the index stores of a page.
func indexDocument(p *pages.Page) search.Document {
	text := p.Text("content_encoded")
	d := search.Document{
		Kind: search.KindOf(p.ContentType), URL: p.URL.URL, Site: p.SiteID, Key: p.URLMd5, Version: rowVersion(&p.URL),
		Title: p.Text("title"), Description: p.Text("description"), Text: text,
		MIMEType: p.ContentType, Size: p.Size, Cached: p.RobotsMask&wire.RobotsNoArchive == 0, Hash: p.RawContentMd5,
	}
	if p.Result != nil {
		if t := p.Result.Tag("keywords"); t != nil {
			d.Keywords = t.Text()
		}
	}
	if words := d.Title + "\n" + text; strings.TrimSpace(words) != "" {
		d.Hash = wire.Md5(words)
	}
	d.Language, _, _ = strings.Cut(language.Choose([]string{p.Text("html_lang")}, text), "-")
	if at := p.Published(); !at.IsZero() {
		d.Date = at.UTC()
	}
	d.Seen, _ = cmp.Or(p.TcDate, p.UDate).Time()
	return d
}

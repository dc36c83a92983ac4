package feed

import (
	"encoding/json"
	"time"
)

// Document returns the raw content of a FEED_PARSER row: a JSON object with the members
// entry, urlMd5, pubdate, parent_rss_feed and parent_rss_feed_urlMd5. The pubdate is Date
// as "YYYY-MM-DD hh:mm:ss" in UTC, null if unknown. Source: docs/spec/crawling.md 5.10,
// docs/spec/processing.md 4.1.
func (e Entry) Document(urlMd5, feedURL, feedMd5 string) ([]byte, error) {
	entry := e.Data
	if len(entry) == 0 {
		entry = json.RawMessage("{}")
	}
	o := &object{}
	o.put("entry", entry)
	o.put("urlMd5", urlMd5)
	var date any
	if !e.Date.IsZero() {
		date = e.Date.UTC().Format(time.DateTime)
	}
	o.put("pubdate", date)
	o.put("parent_rss_feed", feedURL)
	o.put("parent_rss_feed_urlMd5", feedMd5)
	return o.encode()
}

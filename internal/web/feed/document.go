package feed

import (
	"bytes"
	"encoding/json"
	"time"
)

// Document is what a FEED_PARSER row stores as its raw content: one JSON object
// with the members entry, urlMd5, pubdate, parent_rss_feed and
// parent_rss_feed_urlMd5. The pubdate is Date as "YYYY-MM-DD hh:mm:ss" in UTC,
// null when it is unknown. Source: docs/spec/crawling.md 5.10, docs/spec/processing.md 4.1.
func (e Entry) Document(urlMd5, feedURL, feedMd5 string) ([]byte, error) {
	entry := e.Data
	if len(entry) == 0 {
		entry = json.RawMessage("{}")
	}
	o := &object{}
	o.put("entry", entry)
	o.put("urlMd5", urlMd5)
	o.put("pubdate", nil)
	if !e.Date.IsZero() {
		o.members[2].value = e.Date.UTC().Format(time.DateTime)
	}
	o.put("parent_rss_feed", feedURL)
	o.put("parent_rss_feed_urlMd5", feedMd5)
	var b bytes.Buffer
	if err := writeJSON(&b, o); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

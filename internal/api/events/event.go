package events

import (
	"slices"
	"time"
)

// Types of events.
const (
	PageNew      = "page.new"
	PageChanged  = "page.changed"
	PageGone     = "page.gone"
	SiteFinished = "site.finished"
	SiteTrouble  = "site.trouble"
	SiteDeleted  = "site.deleted"
	Test         = "test" // sent to a webhook on request only
)

// Types are the types that clients may choose.
var Types = []string{PageNew, PageChanged, PageGone, SiteFinished, SiteTrouble, SiteDeleted}

// Event is what happened.
type Event struct {
	ID   int64     `json:"id" doc:"number of the event: a later event has a higher one"`
	Type string    `json:"type" enum:"page.new,page.changed,page.gone,site.finished,site.trouble,site.deleted,test"`
	Time time.Time `json:"timestamp" doc:"when the log has noticed it"`
	Data EventData `json:"data"`
}

// EventData says to what it happened.
type EventData struct {
	Site        string      `json:"site" doc:"id of the site"`
	URL         string      `json:"url,omitempty" doc:"of the page"`
	Key         string      `json:"urlMd5,omitempty" doc:"key of the page"`
	HTTPCode    int64       `json:"httpCode,omitempty" doc:"of the last answer"`
	ContentType string      `json:"contentType,omitempty"`
	Size        int64       `json:"size,omitempty" doc:"bytes"`
	Hash        string      `json:"rawContentMd5,omitempty" doc:"md5 of the body as it was received"`
	Changed     *time.Time  `json:"changed,omitempty" doc:"when the content was last changed, as the crawler has seen it"`
	Reason      string      `json:"reason,omitempty" doc:"of page.gone: deleted, or answer; of site.trouble: why, for a person"`
	Counts      *SiteCounts `json:"counts,omitempty" doc:"of a site"`
}

// SiteCounts are the counters of a site.
type SiteCounts struct {
	URLs    int64 `json:"urls" doc:"known URLs without the roots"`
	Waiting int64 `json:"waiting" doc:"URLs that wait for their request"`
	Pages   int64 `json:"pages" doc:"processed pages"`
	Errors  int64 `json:"errors" doc:"URLs with an error"`
}

// Filter chooses events. An empty list allows all.
type Filter struct {
	Types, Sites []string
}

// Allows reports whether an event is chosen.
func (f Filter) Allows(e Event) bool {
	return (len(f.Types) == 0 || slices.Contains(f.Types, e.Type)) && (len(f.Sites) == 0 || slices.Contains(f.Sites, e.Data.Site))
}

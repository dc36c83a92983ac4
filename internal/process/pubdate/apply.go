package pubdate

import (
	"strings"

	"hce/dc/internal/web/pdate"
	"hce/dc/internal/wire/result"
	"hce/dc/internal/wire/schema"
)

// Names of the tags.
const (
	pubDate    = "pubdate"
	dcDate     = "dc_date"
	zoneTag    = "pubdate_tz"
	normalized = "_normalized"
	dateTime   = "datetime" // the type of a rule
)

// Apply finds the publication date of a result. It sets pubdate to YYYY-MM-DD hh:mm:ss, and
// pubdate_tz if the zone is known, and adds <tag>_normalized for each tag of type datetime
// that is a date, and the date of the last change. The texts and the language of s come from the tags.
func Apply(r *result.Result, s Sources, rules Rules) Resolved {
	s.PubDate, s.DublinCore = r.First(pubDate), r.First(dcDate)
	if s.Language == "" {
		s.Language = r.First("html_lang")
	}
	var others []result.Tag
	s.Others = nil
	for _, t := range r.Tags {
		if t.Type != dateTime || t.Default || strings.HasSuffix(t.Name, normalized) {
			continue
		}
		if t.Name != pubDate {
			s.Others = append(s.Others, t.First())
		}
		if at, ok := s.Read(t.First(), rules); ok {
			others = append(others, serviceTag(t.Name+normalized, at.Wall().Format(schema.DateLayout)))
		}
	}
	found := Resolve(s, rules)
	for _, t := range others {
		r.Add(t)
	}
	r.Remove(zoneTag)
	r.Assumed, r.Modified = found.Assumed, s.Modified.String()
	if found.Date == "" {
		return found
	}
	if t := r.Tag(pubDate); t != nil && found.Source == pdate.Page {
		t.Data, t.Plain = []string{string(found.Date)}, false
	} else {
		r.Add(serviceTag(pubDate, string(found.Date)))
	}
	if found.Zone != "" {
		r.Add(serviceTag(zoneTag, found.Zone))
	}
	return found
}

func serviceTag(name, value string) result.Tag {
	return result.Tag{Name: name, Data: []string{value}, Extractor: result.Service}
}

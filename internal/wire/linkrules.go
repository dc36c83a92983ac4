package wire

import (
	"hce/dc/internal/wire/lenient"
)

// LinkRules say when a link resets a known URL, and which rows make room for new links
// in a full site. The texts are unchecked SQL of the site's owner; the repository checks
// them before use and takes the default for a refused one. Source: docs/spec/crawling.md
// 5.7, 5.8.
type LinkRules struct {
	KeepKnown bool // RECRAWL_NO_ROOT_URLS = 0: never reset a known row
	// Age is an expression: a row with a value above 0 is too young to be reset. Its macro
	// is %RECRAWL_PERIOD%, in minutes. "": UDate plus the period, less now.
	Age string
	// A reset sets Status and the dates. KeepStatus and "" keep the value of the row.
	Status                int64
	TcDate, UDate, CDate  string
	RemoveMost            int64  // most rows to remove from a full site; 0: remove no row
	RemoveWhere, RemoveBy string // which rows, in which order; macro %RecrawlPeriod%
	// Active is the condition of rows that count towards MaxURLs. "": all rows except
	// those of other nodes.
	Active string
}

// KeepStatus as LinkRules.Status keeps the status of a row.
const KeepStatus = -1

// DefaultLinkRules returns the rules of a site without these properties.
func DefaultLinkRules() *LinkRules {
	return &LinkRules{Status: StatusNew, TcDate: "NOW()", UDate: "NOW()"}
}

// Resets reports whether a link may reset a known row of a site with this recrawl period in
// minutes.
func (r *LinkRules) Resets(period int64) bool { return !r.KeepKnown && period > 0 }

// ReadLinkRules reads the properties RECRAWL_NO_ROOT_URLS, RECRAWL_URL_* and
// AUTO_REMOVE_* through get. An invalid value keeps its default and gives an error
// "property NAME ...".
func ReadLinkRules(get func(name string) (value string, ok bool)) (*LinkRules, []error) {
	r := DefaultLinkRules()
	p := lenient.PropertyReader{Get: get}
	r.KeepKnown = lenient.ValueOr(p.ReadNumber("RECRAWL_NO_ROOT_URLS", "0 or 1", func(int64) bool { return true }), 1) == 0
	r.Age = p.ReadText("RECRAWL_URL_AGE_EXPRESSION", "")
	r.Status = lenient.ValueOr(p.ReadNumber("RECRAWL_URL_UPDATE_STATUS", "-1, 0, 1, 4 or 7", func(n int64) bool {
		return n == KeepStatus || n == StatusUndefined || FreeStatus(n)
	}), StatusNew)
	r.TcDate = p.ReadText("RECRAWL_URL_UPDATE_TCDATE", r.TcDate)
	r.UDate = p.ReadText("RECRAWL_URL_UPDATE_UDATE", r.UDate)
	r.CDate = p.ReadText("RECRAWL_URL_UPDATE_CDATE", "")
	most := lenient.ValueOr(p.ReadNumber("AUTO_REMOVE_RESOURCES", "a whole number that is not negative", func(n int64) bool { return n >= 0 }), 0)
	if where, by := p.ReadText("AUTO_REMOVE_WHERE", ""), p.ReadText("AUTO_REMOVE_ORDER", ""); where != "" && by != "" {
		r.RemoveMost, r.RemoveWhere, r.RemoveBy = most, where, by
	}
	r.Active = p.ReadText("AUTO_REMOVE_WHERE_ACTIVE", "")
	return r, p.Errs
}

// FreeStatus reports whether no batch holds a row in this status: it is new, crawled or
// processed.
func FreeStatus(status int64) bool {
	return status == StatusNew || status == StatusCrawled || status == StatusProcessed
}

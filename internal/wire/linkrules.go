package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// LinkRules say what becomes of a link whose row is there, and of new links when
// their site is full. The texts are SQL from outside, which the data owner checks
// when it follows them; one that is refused leaves the default. Sources: docs/spec/crawling.md
// 5.7, 5.8.
type LinkRules struct {
	KeepKnown bool // RECRAWL_NO_ROOT_URLS = 0: known rows are never reset
	// Age of a row that is above 0 is too young to be crawled again; the macro is
	// %RECRAWL_PERIOD%, in minutes. "": UDate plus the period, less now.
	Age string
	// Status and the dates that a reset sets; KeepStatus and "" leave what is there.
	Status                int64
	TcDate, UDate, CDate  string
	RemoveMost            int64  // rows that go when the site is full, at most; 0: none
	RemoveWhere, RemoveBy string // which of them, in which order; macro %RecrawlPeriod%
	// Active is the condition of rows that count against MaxURLs. "": all but those
	// of other nodes.
	Active string
}

// KeepStatus as the Status of LinkRules leaves a row's status.
const KeepStatus = -1

// DefaultLinkRules are those of a site without the properties.
func DefaultLinkRules() *LinkRules {
	return &LinkRules{Status: StatusNew, TcDate: "NOW()", UDate: "NOW()"}
}

// ReadLinkRules reads the properties RECRAWL_NO_ROOT_URLS, RECRAWL_URL_* and
// AUTO_REMOVE_*, of which get gives the value and whether there is one. A value
// that cannot be meant leaves its default, and an error "property NAME ...".
func ReadLinkRules(get func(name string) (value string, ok bool)) (*LinkRules, []error) {
	r := DefaultLinkRules()
	var errs []error
	text := func(name, def string) string {
		if value, ok := get(name); ok {
			return strings.TrimSpace(value)
		}
		return def
	}
	number := func(name string, def int64, wanted string, fits func(n int64) bool) int64 {
		value := text(name, "")
		if value == "" {
			return def
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || !fits(n) {
			errs = append(errs, fmt.Errorf("property %s has %q, where %s is wanted", name, clip([]byte(value)), wanted))
			return def
		}
		return n
	}
	r.KeepKnown = number("RECRAWL_NO_ROOT_URLS", 1, "0 or 1", func(int64) bool { return true }) == 0
	r.Age = text("RECRAWL_URL_AGE_EXPRESSION", "")
	r.Status = number("RECRAWL_URL_UPDATE_STATUS", StatusNew, "-1, 0, 1, 4 or 7", func(n int64) bool {
		return n == KeepStatus || n == StatusUndefined || FreeStatus(n)
	})
	r.TcDate = text("RECRAWL_URL_UPDATE_TCDATE", r.TcDate)
	r.UDate = text("RECRAWL_URL_UPDATE_UDATE", r.UDate)
	r.CDate = text("RECRAWL_URL_UPDATE_CDATE", "")
	most := number("AUTO_REMOVE_RESOURCES", 0, "a whole number that is not negative", func(n int64) bool { return n >= 0 })
	if where, by := text("AUTO_REMOVE_WHERE", ""), text("AUTO_REMOVE_ORDER", ""); where != "" && by != "" {
		r.RemoveMost, r.RemoveWhere, r.RemoveBy = most, where, by
	}
	r.Active = text("AUTO_REMOVE_WHERE_ACTIVE", "")
	return r, errs
}

// FreeStatus reports whether a row in a status is in no batch's hands: new,
// crawled or processed.
func FreeStatus(status int64) bool {
	return status == StatusNew || status == StatusCrawled || status == StatusProcessed
}

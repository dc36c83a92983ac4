package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// SiteRecrawl is our own operation between SitesManager and db-task, not offered
// to clients: the steps of a recrawl that must not be torn apart (docs/spec/daemon.md 2.14).
const SiteRecrawl Op = 61

// Steps of SITE_RECRAWL.
const (
	// RecrawlBegin locks sites that are due, or those that are named, counts the
	// iteration and writes the next date; the answer is a list of RecrawlSite.
	RecrawlBegin = "begin"
	// RecrawlResume lists the sites that a run which is gone left locked.
	RecrawlResume = "resume"
	// RecrawlOptimize lets the database look after the table of one site's URLs.
	RecrawlOptimize = "optimize"
	// RecrawlEnd unlocks one site and writes the period that was tuned.
	RecrawlEnd = "end"
)

// MostRecrawl bounds the sites of one SITE_RECRAWL, named or selected.
const MostRecrawl = 1000

// ReasonRecrawl is the reason of a deletion by a recrawl (docs/spec/storage.md 4.11).
const ReasonRecrawl = 5

// SiteRecrawlRequest is the object of SITE_RECRAWL.
type SiteRecrawlRequest struct {
	Step      string    `json:"step"`
	Criterion Criterion `json:"criterions"` // begin: of sites; WHERE and ORDER BY count
	Sites     []string  `json:"sites"`      // begin: those instead; optimize, end: the one
	Except    []string  `json:"except"`     // begin, resume: sites that are left alone
	Max       int64     `json:"max"`        // begin, resume: sites, at most
	// DateExpression gives the next date of a site (begin, end); "": none, the
	// site is recrawled once.
	DateExpression string `json:"dateExpression"`
	// Period is what end changes; nil: nothing.
	Period *RecrawlPeriod `json:"period"`
}

// RecrawlPeriod is a tuned period, in minutes. It is written to a site whose
// period is still From; the date, where that is still one of Dates.
type RecrawlPeriod struct {
	From  int64  `json:"from"`
	To    int64  `json:"to"`
	Dates []Date `json:"dates"`
}

// RecrawlSite is one site under recrawl, as begin and resume answer it.
type RecrawlSite struct {
	ID        string       `json:"id"`
	Period    int64        `json:"recrawlPeriod"` // minutes
	Next      Date         `json:"recrawlDate"`
	Since     Date         `json:"uDate"` // when it was locked
	NewURLs   int64        `json:"newURLs"`
	Resources int64        `json:"resources"`
	Rules     RecrawlRules `json:"rules"`
	Refused   []string     `json:"refused"` // properties that cannot be followed
}

// RecrawlRules are a site's own properties of recrawling; what is nil or "" is
// the ini file's to say. The texts are SQL that the data owner has checked.
type RecrawlRules struct {
	Delete      *bool  `json:"delete"`      // RECRAWL_DELETE; false vetoes
	DeleteWhere string `json:"deleteWhere"` // RECRAWL_DELETE_WHERE
	Optimize    *bool  `json:"optimize"`    // RECRAWL_OPTIMIZE
	Where       string `json:"where"`       // RECRAWL_WHERE
	PeriodMode  *int64 `json:"periodMode"`  // RECRAWL_PERIOD_MODE, and so on
	PeriodMin   *int64 `json:"periodMin"`   // minutes
	PeriodMax   *int64 `json:"periodMax"`   // minutes
	PeriodStep  *int64 `json:"periodStep"`  // minutes
}

// MaxRecrawlPeriod bounds a period, in minutes: ten years.
const MaxRecrawlPeriod = 10 * 366 * 24 * 60

// Names of the properties that hold SQL.
const (
	RecrawlWhereProperty       = "RECRAWL_WHERE"
	RecrawlDeleteWhereProperty = "RECRAWL_DELETE_WHERE"
)

// ReadRecrawlRules reads the properties RECRAWL_* of docs/spec/daemon.md 2.14, of which get
// gives the value and whether there is one. A value that cannot be meant is left
// out, with an error "property NAME ...". A veto of deletion that cannot be read
// vetoes: what is deleted does not come back.
func ReadRecrawlRules(get func(name string) (value string, ok bool)) (RecrawlRules, []error) {
	var r RecrawlRules
	var errs []error
	text := func(name string) string {
		value, _ := get(name)
		return strings.TrimSpace(value)
	}
	number := func(name string, lowest, highest int64) *int64 {
		value := text(name)
		if value == "" {
			return nil
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < lowest || n > highest {
			errs = append(errs, fmt.Errorf("property %s has %q, where %d to %d is wanted", name, clip([]byte(value)), lowest, highest))
			return nil
		}
		return &n
	}
	choice := func(name string) *bool {
		n := number(name, 0, 1)
		if n == nil {
			return nil
		}
		on := *n == 1
		return &on
	}
	before := len(errs)
	r.Delete = choice("RECRAWL_DELETE")
	if len(errs) > before {
		r.Delete = new(bool)
	}
	r.DeleteWhere = text(RecrawlDeleteWhereProperty)
	r.Optimize = choice("RECRAWL_OPTIMIZE")
	r.Where = text(RecrawlWhereProperty)
	r.PeriodMode = number("RECRAWL_PERIOD_MODE", 0, 1)
	r.PeriodMin = number("RECRAWL_PERIOD_MIN", 1, MaxRecrawlPeriod)
	r.PeriodMax = number("RECRAWL_PERIOD_MAX", 1, MaxRecrawlPeriod)
	r.PeriodStep = number("RECRAWL_PERIOD_STEP", 1, MaxRecrawlPeriod)
	return r, errs
}

// ReadSiteRecrawl reads the object of SITE_RECRAWL.
func ReadSiteRecrawl(raw json.RawMessage, n *Notes) (SiteRecrawlRequest, error) {
	o := readObject("SiteRecrawl", raw)
	r := SiteRecrawlRequest{
		Step: o.text("step", ""), Criterion: o.criterion("criterions", Criterion{}),
		Sites: o.texts("sites", nil), Except: o.texts("except", nil), Max: o.int("max", 1),
		DateExpression: o.text("dateExpression", ""),
	}
	if raw := o.raw("period"); raw != nil {
		if json.Unmarshal(raw, &r.Period) != nil {
			o.fail("period", "is not {from, to, dates}")
		}
	}
	return r, o.end(n)
}

// Check refuses what has no meaning, and ids that cannot be stored.
func (r SiteRecrawlRequest) Check() error {
	fail := func(field, value, reason string) error {
		return &FieldError{Object: "SiteRecrawl", Field: field, Value: clip([]byte(value)), Reason: reason}
	}
	switch r.Step {
	case RecrawlBegin:
		if len(r.Sites) == 0 && r.Criterion.Where == "" {
			return fail("criterions", "", "has no WHERE, and there are no sites")
		}
	case RecrawlResume:
	case RecrawlOptimize, RecrawlEnd:
		if len(r.Sites) != 1 {
			return fail("sites", "", "is not one site")
		}
	default:
		return fail("step", r.Step, "is not begin, resume, optimize or end")
	}
	if r.Max < 1 || r.Max > MostRecrawl {
		return fail("max", strconv.FormatInt(r.Max, 10), fmt.Sprintf("is not 1 to %d", MostRecrawl))
	}
	if len(r.Sites) > MostRecrawl || len(r.Except) > 2*MostRecrawl {
		return fail("sites", "", "is too long")
	}
	if p := r.Period; p != nil && (p.From < 0 || p.To < 0 || p.To > MaxRecrawlPeriod || len(p.Dates) > MostRecrawl) {
		return fail("period", "", "is out of range")
	}
	for _, id := range slices.Concat(r.Sites, r.Except) {
		if err := CheckSiteID("SiteRecrawl", "sites", id); err != nil {
			return err
		}
	}
	return nil
}

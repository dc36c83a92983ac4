package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
)

// SiteRecrawl does one atomic step of a recrawl (docs/spec/daemon.md 2.14). It is our own
// operation between SitesManager and db-task; clients cannot call it.
const SiteRecrawl Op = 61

// Steps of SITE_RECRAWL.
const (
	// RecrawlBegin locks the sites that are due, or the named sites, counts the iteration
	// and writes the next date. The answer is a list of RecrawlSite.
	RecrawlBegin = "begin"
	// RecrawlResume lists the sites that an earlier run left locked.
	RecrawlResume = "resume"
	// RecrawlOptimize optimizes the URL table of one site.
	RecrawlOptimize = "optimize"
	// RecrawlEnd unlocks one site and writes its tuned period.
	RecrawlEnd = "end"
)

// MostRecrawl is the most sites of one SITE_RECRAWL.
const MostRecrawl = 1000

// ReasonRecrawl is the reason of a deletion by a recrawl (docs/spec/storage.md 4.11).
const ReasonRecrawl = 5

// SiteRecrawlRequest is the object of SITE_RECRAWL.
type SiteRecrawlRequest struct {
	Step      string    `json:"step"`
	Criterion Criterion `json:"criterions"` // begin: selects sites by WHERE and ORDER BY
	Sites     []string  `json:"sites"`      // begin: overrides Criterion; optimize, end: one site
	Except    []string  `json:"except"`     // begin, resume: sites to skip
	Max       int64     `json:"max"`        // begin, resume: most sites
	// DateExpression computes the next date of a site (begin, end). "": no next date, the
	// site is recrawled once.
	DateExpression string `json:"dateExpression"`
	// Period is the new period (end). nil: the period does not change.
	Period *RecrawlPeriod `json:"period"`
}

// RecrawlPeriod is a tuned period in minutes. It changes a site only if its period is
// still From, and the site's date only if that is still one of Dates.
type RecrawlPeriod struct {
	From  int64         `json:"from"`
	To    int64         `json:"to"`
	Dates []schema.Date `json:"dates"`
}

// RecrawlSite is a locked site in the answer to begin and resume.
type RecrawlSite struct {
	ID        string       `json:"id"`
	Period    int64        `json:"recrawlPeriod"` // minutes
	Next      schema.Date  `json:"recrawlDate"`
	Since     schema.Date  `json:"uDate"` // when it was locked
	NewURLs   int64        `json:"newURLs"`
	Resources int64        `json:"resources"`
	Rules     RecrawlRules `json:"rules"`
	Refused   []string     `json:"refused"` // errors of invalid properties
}

// RecrawlRules are the recrawl properties of a site. For nil and "" the setting of the
// ini file applies. The texts are SQL that the repository has checked.
type RecrawlRules struct {
	Delete      *bool  `json:"delete"`      // RECRAWL_DELETE; false forbids deletion
	DeleteWhere string `json:"deleteWhere"` // RECRAWL_DELETE_WHERE
	Optimize    *bool  `json:"optimize"`    // RECRAWL_OPTIMIZE
	Where       string `json:"where"`       // RECRAWL_WHERE
	PeriodMode  *int64 `json:"periodMode"`  // RECRAWL_PERIOD_MODE
	PeriodMin   *int64 `json:"periodMin"`   // RECRAWL_PERIOD_MIN, minutes
	PeriodMax   *int64 `json:"periodMax"`   // RECRAWL_PERIOD_MAX, minutes
	PeriodStep  *int64 `json:"periodStep"`  // RECRAWL_PERIOD_STEP, minutes
}

// MaxRecrawlPeriod is the longest period in minutes: ten years.
const MaxRecrawlPeriod = 10 * 366 * 24 * 60

// Names of the properties that hold SQL.
const (
	RecrawlWhereProperty       = "RECRAWL_WHERE"
	RecrawlDeleteWhereProperty = "RECRAWL_DELETE_WHERE"
)

// ReadRecrawlRules reads the properties RECRAWL_* of docs/spec/daemon.md 2.14 through get.
// An invalid value counts as absent and gives an error "property NAME ...". An invalid
// RECRAWL_DELETE forbids deletion, because deletion is final.
func ReadRecrawlRules(get func(name string) (value string, ok bool)) (RecrawlRules, []error) {
	p := lenient.PropertyReader{Get: get}
	number := func(name string, lowest, highest int64) *int64 {
		return p.ReadNumber(name, fmt.Sprintf("%d to %d", lowest, highest), func(n int64) bool { return n >= lowest && n <= highest })
	}
	choice := func(name string) *bool {
		n := number(name, 0, 1)
		if n == nil {
			return nil
		}
		on := *n == 1
		return &on
	}
	r := RecrawlRules{Delete: choice("RECRAWL_DELETE")}
	if len(p.Errs) > 0 {
		r.Delete = new(bool)
	}
	r.DeleteWhere = p.ReadText(RecrawlDeleteWhereProperty, "")
	r.Optimize = choice("RECRAWL_OPTIMIZE")
	r.Where = p.ReadText(RecrawlWhereProperty, "")
	r.PeriodMode = number("RECRAWL_PERIOD_MODE", 0, 1)
	r.PeriodMin = number("RECRAWL_PERIOD_MIN", 1, MaxRecrawlPeriod)
	r.PeriodMax = number("RECRAWL_PERIOD_MAX", 1, MaxRecrawlPeriod)
	r.PeriodStep = number("RECRAWL_PERIOD_STEP", 1, MaxRecrawlPeriod)
	return r, p.Errs
}

// ReadSiteRecrawl reads the object of SITE_RECRAWL.
func ReadSiteRecrawl(raw json.RawMessage, n *lenient.Notes) (SiteRecrawlRequest, error) {
	return lenient.ReadOne("SiteRecrawl", raw, n, func(o *lenient.Object) SiteRecrawlRequest {
		r := SiteRecrawlRequest{
			Step: o.ReadText("step"), Criterion: readCriterion(o, "criterions", Criterion{}),
			Sites: o.ReadTexts("sites", nil), Except: o.ReadTexts("except", nil), Max: o.ReadInt("max", 1),
			DateExpression: o.ReadText("dateExpression"),
		}
		if o.HasField("period") && json.Unmarshal(o.Fields["period"], &r.Period) != nil {
			o.RefuseField("period", "is not {from, to, dates}")
		}
		return r
	})
}

// Check refuses unknown steps, numbers out of range and invalid site ids.
func (r SiteRecrawlRequest) Check() error {
	fail := func(field, value, reason string) error {
		return &lenient.FieldError{Object: "SiteRecrawl", Field: field, Value: lenient.ClipText([]byte(value)), Reason: reason}
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

package sqlstore

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// The shipped criterion and date of [SitesManager]. A test of internal/cli/daemonprogram compares them
// with the shipped file.
const (
	dueSites = "`State`=1 AND IFNULL((SELECT `Value` FROM `dc_sites`.`sites_properties` WHERE `Site_Id`=`sites`.`Id` AND `Name`='MODES_FLAG' LIMIT 1), 255) & 8 > 0 AND `RecrawlDate` IS NOT NULL AND `RecrawlDate`<=NOW()"
	onGrid   = "DATE_ADD(CURDATE(), INTERVAL (CEIL(TIME_TO_SEC(CURTIME())/(60*`RecrawlPeriod`))+1)*`RecrawlPeriod` MINUTE)"
)

func due(max int64) wire.SiteRecrawlRequest {
	return wire.SiteRecrawlRequest{
		Step: wire.RecrawlBegin, Criterion: wire.Criterion{Where: dueSites, OrderBy: "`RecrawlDate` ASC"}, Max: max, DateExpression: onGrid,
	}
}

func (b *bench) begin(r wire.SiteRecrawlRequest) []wire.RecrawlSite {
	b.Helper()
	b.must(r.Check())
	sites, err := b.RecrawlBegin(ctx, r)
	b.must(err)
	return sites
}

func ids(sites []wire.RecrawlSite) string {
	var list []string
	for _, s := range sites {
		list = append(list, s.ID)
	}
	return strings.Join(list, " ")
}

// The next date is on a grid that begins at midnight, one to two periods in the future.
func TestNextRecrawlDate(t *testing.T) {
	b := newBench(t)
	cases := []struct {
		now, expression string
		period          int64
		want            schema.Date
	}{
		{"2026-01-05 10:00:00", onGrid, 60, "2026-01-05 11:00:00"}, // on the grid: one period
		{"2026-01-05 10:00:01", onGrid, 60, "2026-01-05 12:00:00"},
		{"2026-01-05 10:59:59", onGrid, 60, "2026-01-05 12:00:00"},
		{"2026-01-05 00:00:00", onGrid, 60, "2026-01-05 01:00:00"},
		{"2026-01-05 23:10:00", onGrid, 30, "2026-01-06 00:00:00"}, // over midnight
		{"2026-01-05 23:59:59", onGrid, 15, "2026-01-06 00:15:00"},
		{"2026-01-05 10:00:00", onGrid, 1440, "2026-01-07 00:00:00"},
		{"2026-01-05 23:00:00", onGrid, 1000, "2026-01-07 02:00:00"}, // not a divisor of a day: 3 * 1000 minutes
		{"2026-01-05 10:00:00", onGrid, 10080, "2026-01-19 00:00:00"},
		{"2026-03-29 01:30:00", onGrid, 60, "2026-03-29 03:00:00"}, // daylight saving time starts in Europe, not in UTC
		{"2026-10-25 01:30:00", onGrid, 60, "2026-10-25 03:00:00"},
		{"2026-12-31 23:30:00", onGrid, 45, "2027-01-01 00:45:00"},
		{"2028-02-28 22:30:00", onGrid, 120, "2028-02-29 02:00:00"},
		{"2026-01-05 10:00:01", onGrid, 0, ""}, // never again
		{"2026-01-05 10:00:01", "", 60, ""},    // once
		{"2026-01-05 10:00:01", "DATE_ADD(NOW(), INTERVAL `RecrawlPeriod` MINUTE)", 60, "2026-01-05 11:00:01"},
		{"2026-01-05 10:00:01", "NULL", 60, ""},
		// A date in the past would be due at once.
		{"2026-01-05 10:00:01", "NOW()", 60, "2026-01-05 11:00:01"},
		{"2026-01-05 10:00:01", "2020-01-01", 60, "2026-01-05 11:00:01"},
	}
	for i, tc := range cases {
		id := fmt.Sprint("s", i)
		b.now, _ = schema.Date(tc.now).Time()
		b.newSite(fmt.Sprintf(`{"id":%q,"recrawlPeriod":%d,"recrawlDate":"2020-01-01 00:00:00","iterations":4}`, id, tc.period))
		r := due(1)
		r.DateExpression = tc.expression
		got := b.begin(r)
		if ids(got) != id || got[0].Next != tc.want || got[0].Period != tc.period || got[0].Since != schema.Date(tc.now) {
			t.Errorf("at %s, period %d, %q: %+v, want %q", tc.now, tc.period, tc.expression, got, tc.want)
			continue
		}
		ahead, ok := got[0].Next.Time()
		if period := time.Duration(tc.period) * time.Minute; ok && tc.expression == onGrid && (ahead.Sub(b.now) < period || ahead.Sub(b.now) > 2*period) {
			t.Errorf("at %s, period %d: %s is not one to two periods in the future", tc.now, tc.period, got[0].Next)
		}
		s := b.site(id)
		if s.RecrawlDate != tc.want || !s.RecrawlLock || s.Iterations != 5 || s.TcDate != schema.Date(tc.now) || s.UDate != schema.Date(tc.now) || s.State != wire.SiteActive {
			t.Errorf("site after the lock: %+v", s)
		}
	}
	for _, expression := range []string{"SLEEP(5)", "NOW(", "`NoColumn`", "1; DROP TABLE x"} {
		r := due(1)
		r.DateExpression = expression
		if _, err := b.RecrawlBegin(ctx, r); !tables.IsRefusal(err) || !strings.Contains(err.Error(), "dateExpression") {
			t.Errorf("%s: %v", expression, err)
		}
	}
}

// The shipped criterion selects sites in its order, up to the limit, each once.
func TestRecrawlBegin(t *testing.T) {
	b := newBench(t)
	add := func(id, date, more string) {
		b.newSite(fmt.Sprintf(`{"id":%q,"recrawlPeriod":60,"recrawlDate":%s%s}`, id, date, more))
	}
	mode := func(value string) string {
		return `,"properties":[{"name":"OTHER","value":"x"},{"name":"MODES_FLAG","value":"` + value + `"}]`
	}
	add("late", `"2026-01-05 09:00:00"`, "")
	add("later", `"2026-01-05 10:00:00"`, "")
	add("later2", `"2026-01-05 10:00:00"`, "")
	add("never", `null`, "")
	add("future", `"2026-01-05 10:00:01"`, "")
	add("off", `"2026-01-04 10:00:00"`, mode("7"))
	add("on", `"2026-01-04 10:00:00"`, mode("8"))
	add("suspended", `"2026-01-04 10:00:00"`, `,"state":3`)
	add("disabled", `"2026-01-04 10:00:00"`, `,"state":2`)
	if got := ids(b.begin(due(2))); got != "on late" {
		t.Errorf("the first two are %q", got)
	}
	r := due(10)
	r.Except = []string{"later"}
	if got := ids(b.begin(r)); got != "later2" {
		t.Errorf("but one are %q", got)
	}
	if got := ids(b.begin(due(10))); got != "later" {
		t.Errorf("the rest is %q", got)
	}
	if got := ids(b.begin(due(10))); got != "" {
		t.Errorf("taken twice: %q", got)
	}
	// Named sites are taken regardless of the criterion, unless locked or deleted.
	if got := ids(b.begin(wire.SiteRecrawlRequest{Step: wire.RecrawlBegin, Sites: []string{"late", "never", "gone"}, Max: 1, DateExpression: onGrid})); got != "never" {
		t.Errorf("named: %q", got)
	}

	// A later run resumes and ends all of them.
	for max, want := range map[int64]string{2: "late later", 10: "late later later2 on"} {
		got, err := b.RecrawlResume(ctx, wire.SiteRecrawlRequest{Step: wire.RecrawlResume, Except: []string{"never"}, Max: max})
		b.must(err)
		if ids(got) != want {
			t.Errorf("resume %d: %q", max, ids(got))
		}
	}
	for _, id := range []string{"late", "later", "later2", "on", "never"} {
		known, err := b.RecrawlEnd(ctx, id, onGrid, nil)
		b.must(err)
		if s := b.site(id); !known || s.RecrawlLock || s.Iterations != 1 {
			t.Errorf("%s: known %v, %+v", id, known, s)
		}
	}
	got, err := b.RecrawlResume(ctx, wire.SiteRecrawlRequest{Step: wire.RecrawlResume, Max: 10})
	b.must(err)
	if len(got) != 0 || got == nil {
		t.Errorf("still locked: %+v", got)
	}
	if known, err := b.RecrawlEnd(ctx, "gone", onGrid, nil); known || err != nil {
		t.Errorf("gone: %v, %v", known, err)
	}

	for name, c := range map[string]wire.Criterion{
		"WHERE":    {Where: "SLEEP(5)"},
		"ORDER BY": {Where: "1", OrderBy: "(SELECT 1"},
	} {
		r := due(1)
		r.Criterion = c
		if _, err := b.RecrawlBegin(ctx, r); !tables.IsRefusal(err) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A tuned period sets the next date; values that a client set in the meantime stay.
func TestTunedPeriod(t *testing.T) {
	b := newBench(t)
	cases := []struct {
		name, update string
		tuned        *wire.RecrawlPeriod
		period       int64
		date         schema.Date
	}{
		{"none", "", nil, 60, "2026-01-05 11:00:00"},
		{"the same", "", &wire.RecrawlPeriod{From: 60, To: 60}, 60, "2026-01-05 11:00:00"},
		{"longer", "", &wire.RecrawlPeriod{From: 60, To: 90}, 90, "2026-01-05 12:00:00"},
		{"shorter", "", &wire.RecrawlPeriod{From: 60, To: 15}, 15, "2026-01-05 10:30:00"},
		{"of a client", `"recrawlPeriod":120`, &wire.RecrawlPeriod{From: 60, To: 90}, 120, "2026-01-05 11:00:00"},
		{"date of a client", `"recrawlDate":"2026-02-01 00:00:00"`, &wire.RecrawlPeriod{From: 60, To: 90}, 90, "2026-02-01 00:00:00"},
	}
	for i, tc := range cases {
		id := fmt.Sprint("s", i)
		b.now = time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
		b.newSite(fmt.Sprintf(`{"id":%q,"recrawlPeriod":60,"recrawlDate":"2020-01-01 00:00:00"}`, id))
		got := b.begin(due(1))
		if tc.update != "" {
			r, err := wire.ReadSiteUpdate(json.RawMessage(`{"id":"`+id+`","state":3,`+tc.update+`}`), nil)
			b.must(err)
			_, err = b.SiteUpdate(ctx, r)
			b.must(err)
		}
		b.now = b.now.Add(time.Minute)
		if tc.tuned != nil {
			tc.tuned.Dates = []schema.Date{got[0].Next}
		}
		_, err := b.RecrawlEnd(ctx, id, onGrid, tc.tuned)
		b.must(err)
		s := b.site(id)
		if s.RecrawlPeriod != tc.period || s.RecrawlDate != tc.date || s.RecrawlLock || s.TcDate != "2026-01-05 10:01:00" {
			t.Errorf("%s: period %d, date %s, %+v", tc.name, s.RecrawlPeriod, s.RecrawlDate, s)
		}
		if want := int64(wire.SiteActive); tc.update == "" && s.State != want {
			t.Errorf("%s: state %d", tc.name, s.State)
		}
	}
}

// Only the invalid property is ignored, and the mask reports it.
func TestRecrawlRules(t *testing.T) {
	b := newBench(t)
	cases := []struct {
		name, value string
		want        string // of the rules
		refused     string
	}{
		{"OTHER", "x", `{"delete":null,"deleteWhere":"","optimize":null,"where":"Depth\u003c2","periodMode":null,"periodMin":null,"periodMax":null,"periodStep":null}`, ""},
		{"RECRAWL_DELETE", " 0 ", `{"delete":false,`, ""},
		{"RECRAWL_DELETE", "1", `{"delete":true,`, ""},
		{"RECRAWL_DELETE", "maybe", `{"delete":false,`, "RECRAWL_DELETE "},
		{"RECRAWL_DELETE_WHERE", "Status=4", `"deleteWhere":"Status=4"`, ""},
		{"RECRAWL_DELETE_WHERE", "Status=", `{"delete":false,"deleteWhere":""`, "RECRAWL_DELETE_WHERE"},
		{"RECRAWL_DELETE_WHERE", "Site_Id IN (SELECT Site_Id FROM urls_other)", `{"delete":false,"deleteWhere":""`, "RECRAWL_DELETE_WHERE"},
		{"RECRAWL_OPTIMIZE", "1", `"optimize":true`, ""},
		{"RECRAWL_OPTIMIZE", "2", `"optimize":null`, "RECRAWL_OPTIMIZE"},
		{"RECRAWL_PERIOD_MODE", "1", `"periodMode":1`, ""},
		{"RECRAWL_PERIOD_MODE", "7", `"periodMode":null`, "RECRAWL_PERIOD_MODE"},
		{"RECRAWL_PERIOD_MIN", "5", `"periodMin":5`, ""},
		{"RECRAWL_PERIOD_MIN", "0", `"periodMin":null`, "RECRAWL_PERIOD_MIN"},
		{"RECRAWL_PERIOD_MAX", "50", `"periodMax":50`, ""},
		{"RECRAWL_PERIOD_MAX", "1e9", `"periodMax":null`, "RECRAWL_PERIOD_MAX"},
		{"RECRAWL_PERIOD_STEP", "3", `"periodStep":3`, ""},
		{"RECRAWL_PERIOD_STEP", "-3", `"periodStep":null`, "RECRAWL_PERIOD_STEP"},
	}
	for i, tc := range cases {
		id := fmt.Sprint("s", i)
		b.newSite(fmt.Sprintf(`{"id":%q,"recrawlPeriod":60,"recrawlDate":"2020-01-01 00:00:00","properties":[{"name":"RECRAWL_WHERE","value":"Depth<2"},{"name":%q,"value":%q}]}`,
			id, tc.name, tc.value))
		got := b.begin(due(1))
		if ids(got) != id {
			t.Fatalf("selected %q", ids(got))
		}
		raw, err := json.Marshal(got[0].Rules)
		b.must(err)
		said := strings.Join(got[0].Refused, "; ")
		if !strings.Contains(string(raw), tc.want) || !strings.Contains(string(raw), `"where":"Depth\u003c2"`) ||
			(said == "") != (tc.refused == "") || !strings.Contains(said, tc.refused) {
			t.Errorf("%s = %q: %s, refused %q", tc.name, tc.value, raw, said)
		}
		if s := b.site(id); (s.ErrorMask == errormask.Initialization) != (tc.refused != "") {
			t.Errorf("%s = %q: mask %v", tc.name, tc.value, s.ErrorMask.Names())
		}
	}
	// Two invalid properties are both reported, and the third is followed.
	b.newSite(`{"id":"both","recrawlPeriod":60,"recrawlDate":"2020-01-01 00:00:00","properties":[{"name":"RECRAWL_WHERE","value":"SLEEP(1)"},
		{"name":"RECRAWL_OPTIMIZE","value":"no"},{"name":"RECRAWL_PERIOD_MIN","value":"7"}]}`)
	got := b.begin(due(1))
	if len(got) != 1 || len(got[0].Refused) != 2 || got[0].Rules.Where != "" || got[0].Rules.PeriodMin == nil || *got[0].Rules.PeriodMin != 7 {
		t.Errorf("got %+v", got)
	}
}

// A locked site can be changed and deleted; the end of a recrawl handles both.
func TestLockedSite(t *testing.T) {
	b := newBench(t)
	for _, id := range []string{"kept", "gone", "clean"} {
		b.newSite(fmt.Sprintf(`{"id":%q,"recrawlPeriod":60,"recrawlDate":"2020-01-01 00:00:00","urls":["http://%s.example.test/"]}`, id, id))
	}
	if got := ids(b.begin(due(3))); got != "clean gone kept" {
		t.Fatalf("selected %q", got)
	}
	for _, id := range []string{"kept", "gone", "clean"} {
		if known, err := b.RecrawlOptimize(ctx, id); !known || err != nil {
			t.Errorf("optimize %s: %v, %v", id, known, err)
		}
	}
	update, err := wire.ReadSiteUpdate(json.RawMessage(`{"id":"kept","state":3,"priority":7}`), nil)
	b.must(err)
	_, err = b.SiteUpdate(ctx, update)
	b.must(err)
	_, err = b.SiteDelete(ctx, []wire.SiteDeleteRequest{{ID: "gone", DelayedType: wire.Immediate}})
	b.must(err)
	cleanups, err := wire.ReadSiteCleanup(json.RawMessage(`{"id":"clean"}`), nil)
	b.must(err)
	_, err = b.SiteCleanup(ctx, cleanups)
	b.must(err)
	if s := b.site("kept"); !s.RecrawlLock || s.State != wire.SiteSuspended || s.Priority != 7 {
		t.Errorf("changed while locked: %+v", s)
	}
	if s := b.site("gone"); s.State != wire.SiteNotFound || s.RecrawlLock {
		t.Errorf("deleted while locked: %+v", s)
	}
	for id, want := range map[string]bool{"kept": true, "gone": false, "clean": true} {
		if known, err := b.RecrawlOptimize(ctx, id); known != want || err != nil {
			t.Errorf("optimize %s: %v, %v", id, known, err)
		}
		if known, err := b.RecrawlEnd(ctx, id, onGrid, nil); known != want || err != nil {
			t.Errorf("end %s: %v, %v", id, known, err)
		}
		if b.site(id).RecrawlLock {
			t.Errorf("%s is still locked", id)
		}
	}
	if s := b.site("kept"); s.State != wire.SiteSuspended {
		t.Errorf("unlocking changed the state to %d", s.State)
	}
	// A new site of the same id is not locked.
	b.newSite(`{"id":"gone","recrawlPeriod":60,"recrawlDate":"2020-01-01 00:00:00"}`)
	if got := ids(b.begin(due(3))); got != "gone" {
		t.Errorf("selected %q", got)
	}
}

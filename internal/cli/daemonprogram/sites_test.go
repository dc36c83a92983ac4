package daemonprogram

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// The shipped [SitesManager] equals the defaults, except the program and the values that
// managers set themselves.
func TestShippedSitesManager(t *testing.T) {
	shipped, f := read(t, "")
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	defaults, _ := read(t, "[Application]\n")
	a, b := shipped.Sites, defaults.Sites
	a.DBTask = b.DBTask
	if a.Server != "SitesManager" || a.Timeout != 90*time.Second || a.Workers != 8 || a.MaxQueue != 1000 {
		t.Errorf("%+v", a)
	}
	b.Server, b.Timeout, b.Workers, b.MaxQueue = a.Server, a.Timeout, a.Workers, a.MaxQueue
	if !reflect.DeepEqual(a, b) {
		t.Errorf("shipped %+v\ndefault %+v", a, b)
	}
}

// Each invalid value is refused with key, value and range.
func TestWrongSitesManager(t *testing.T) {
	cases := map[string][2]string{ // key: a wrong value, what is said of it
		"RecrawlSiteMode":                  {"2", "0 or 1"},
		"RecrawlSiteMax":                   {"0", "from 1 to 1000"},
		"RecrawlSiteIterationPeriod":       {"-1", "from 0 to 86400"},
		"RecrawlSiteRecrawlDateExpression": {"SLEEP(1)", "SLEEP"},
		"RecrawlSiteSelectCriterion":       {"`NoColumn`=1", "NoColumn"},
		"RecrawlSiteSelectOrder":           {"1; DROP TABLE x", "cannot be followed"},
		"RecrawlSiteMaxThreads":            {"65", "from 1 to 64"},
		"RecrawlSiteOptimize":              {"x", "0 or 1"},
		"RecrawlSiteDRCETimeout":           {"0", "from 1 to 86400"},
		"RecrawlSitePeriodMode":            {"2", "from 0 to 1"},
		"RecrawlSitePeriodMax":             {"0", "from 1 to"},
		"RecrawlSitePeriodMin":             {"2000", "from 1 to RecrawlSitePeriodMax, 1440"},
		"RecrawlSitePeriodStep":            {"0", "from 1 to"},
		"RecrawlDelayBefore":               {"-1", "from 0 to"},
		"RecrawlDelayAfter":                {"1d", "from 0 to"},
		"DefaultRecrawUpdatelCriterion":    {"(1", "cannot be followed"},
		"DefaultRecrawDeleteOld":           {"7", "0 or 1"},
		"DefaultRecrawDeleteOldCriterion":  {"LOAD_FILE('x')", "LOAD_FILE"},
		"PurgeMethod":                      {"2", "from 0 to 1"},
		"DRCERoute":                        {`{"role": 2}`, "must be 0 (all), 1"},
		"DRCETimeout":                      {"0", "from 1 to"},
	}
	for key, tc := range cases {
		_, f := read(t, "[Application]\n[SitesManager]\n"+key+" = "+tc[0]+"\n")
		err := f.Err()
		if err == nil {
			t.Errorf("%s = %s is taken", key, tc[0])
			continue
		}
		for _, want := range []string{key, tc[1], strings.TrimSuffix(strings.TrimPrefix(tc[0], `{"`), `}`)} {
			if !strings.Contains(strings.ReplaceAll(err.Error(), `\"`, `"`), want) {
				t.Errorf("%s = %s: no %q in %v", key, tc[0], want, err)
			}
		}
	}
}

// Every key sets its field.
func TestSitesManagerKeys(t *testing.T) {
	cfg, f := read(t, `[Application]
[SitesManager]
RecrawlSiteMode = 0
RecrawlSiteMax = 7
RecrawlSiteIterationPeriod = 8
RecrawlSiteRecrawlDateExpression = NULL
RecrawlSiteSelectCriterion = `+"`Priority`>9"+`
RecrawlSiteSelectOrder = Id
RecrawlSiteMaxThreads = 10
RecrawlSiteLockState = 3
RecrawlSiteOptimize = 0
RecrawlSiteDRCETimeout = 11
RecrawlSitePeriodMode = 1
RecrawlSitePeriodMax = 120
RecrawlSitePeriodMin = 12
RecrawlSitePeriodStep = 13
RecrawlDelayBefore = 14
RecrawlDelayAfter = 15
DefaultRecrawUpdatelCriterion = Depth<16
DefaultRecrawDeleteOld = 1
DefaultRecrawDeleteOldCriterion = Depth>17
PurgeMethod = 1
CommonCommandsThreadingMode = 0
DRCERoute = {"role": 4}
DRCEConnectionsPool = {"localhost:5656:90": [1, 2]}
DRCENodes = 1
`)
	if f.Err() != nil || len(f.Unknown()) > 0 {
		t.Fatal(f.Err(), f.Unknown())
	}
	r := cfg.Sites.Recrawl
	got := []any{r.Mode, r.Max, r.Period, r.DateExpression, r.Criterion.Where, r.Criterion.OrderBy, r.MaxThreads, r.Optimize, r.Timeout,
		r.PeriodMode, r.PeriodMax, r.PeriodMin, r.PeriodStep, r.DelayBefore, r.DelayAfter, r.Renew, r.DeleteOld, r.DeleteWhere, r.PurgeMethod}
	want := []any{false, int64(7), 8 * time.Second, "NULL", "`Priority`>9", "Id", int64(10), false, 11 * time.Second,
		int64(1), int64(120), int64(12), int64(13), 14 * time.Second, 15 * time.Second, "Depth<16", true, "Depth>17", int64(1)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

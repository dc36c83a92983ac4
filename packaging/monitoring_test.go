package packaging

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// exported is what docs/metrics.md says of a metric. A test of the status server holds that page
// to the code.
type exported struct {
	kind   string
	labels []string
}

var aMetricRow = regexp.MustCompile("(?m)^\\| `(dc_[a-z_]+)` \\| ([a-z]+) \\| ([a-z, ]*) \\|")

func exportedMetrics(t *testing.T) map[string]exported {
	t.Helper()
	all := map[string]exported{}
	for _, row := range aMetricRow.FindAllStringSubmatch(text(t, "../docs/metrics.md"), -1) {
		all[row[1]] = exported{row[2], strings.Split(row[3], ", ")}
	}
	if len(all) < 60 {
		t.Fatalf("docs/metrics.md has only %d metrics", len(all))
	}
	return all
}

var (
	aSeries = regexp.MustCompile(`\b(dc_[a-z_]+)(?:\{([^}]*)\})?`)
	aLabel  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
	aBy     = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// checkSeries reports each series of an expression that the daemon does not export.
func checkSeries(t *testing.T, all map[string]exported, where, expression string) (series int) {
	t.Helper()
	known := []string{"instance", "job", "le"}
	for _, m := range aSeries.FindAllStringSubmatch(expression, -1) {
		series++
		one, ok := all[m[1]]
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			base, cut := strings.CutSuffix(m[1], suffix)
			if e := all[base]; cut && (e.kind == "histogram" || e.kind == "summary" && suffix != "_bucket") {
				one, ok = e, true
			}
		}
		if !ok {
			t.Errorf("%s: the daemon does not export %s", where, m[1])
			continue
		}
		known = append(known, one.labels...)
		for _, l := range aLabel.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(append(one.labels, "instance", "job"), l[1]) {
				t.Errorf("%s: %s has no label %s", where, m[1], l[1])
			}
		}
	}
	for _, m := range aBy.FindAllStringSubmatch(expression, -1) {
		for _, label := range strings.Split(m[1], ",") {
			if label = strings.TrimSpace(label); !slices.Contains(known, label) {
				t.Errorf("%s: no series has the label %s", where, label)
			}
		}
	}
	return series
}

// The dashboard shows only metrics and labels that the daemon exports, and something in each panel.
func TestDashboard(t *testing.T) {
	all := exportedMetrics(t)
	exists(t, "docs/metrics.md", "/usr/share/doc/dc/grafana/dc.json")
	var board struct {
		Title, UID string
		Panels     []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr, RefID string }
		}
		Templating struct {
			List []struct{ Name, Type string }
		}
	}
	d := json.NewDecoder(strings.NewReader(text(t, "grafana/dc.json")))
	if err := d.Decode(&board); err != nil || board.Title == "" || board.UID == "" || len(board.Templating.List) != 2 {
		t.Fatalf("%v, dashboard %q %q with %d variables", err, board.Title, board.UID, len(board.Templating.List))
	}
	seen, taken := map[int]bool{}, map[[2]int]string{}
	for _, p := range board.Panels {
		if seen[p.ID] || p.Title == "" || len(p.Targets) == 0 {
			t.Errorf("panel %d %q: repeated id, no title or no query", p.ID, p.Title)
		}
		seen[p.ID] = true
		for _, target := range p.Targets {
			if checkSeries(t, all, p.Title, target.Expr) == 0 {
				t.Errorf("%s: the query %q has no metric", p.Title, target.Expr)
			}
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("panel %q covers %q at %d, %d", p.Title, other, x, y)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
	if len(board.Panels) < 15 {
		t.Errorf("only %d panels", len(board.Panels))
	}
}

// The alert rules use metrics that the daemon exports. promtool accepts them, and fires each alert
// in its example.
func TestAlertRules(t *testing.T) {
	all := exportedMetrics(t)
	rules, examples := text(t, "prometheus/dc.rules.yml"), text(t, "prometheus/dc.tests.yml")
	exists(t, "docs/metrics.md", "/usr/share/doc/dc/prometheus/dc.rules.yml")
	if n := checkSeries(t, all, "dc.rules.yml", rules); n < 10 {
		t.Errorf("the rules use only %d series", n)
	}
	checkSeries(t, all, "dc.tests.yml", examples)
	alerts := regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllStringSubmatch(rules, -1)
	for _, alert := range alerts {
		if n := len(regexp.MustCompile(`alertname: `+alert[1]+`\b`).FindAllString(examples, -1)); n != 2 {
			t.Errorf("dc.tests.yml has %d examples of %s, want one that fires and one that does not", n, alert[1])
		}
	}
	if len(alerts) < 8 {
		t.Errorf("only %d alerts", len(alerts))
	}
	promtool(t, "check", "rules", "dc.rules.yml")
	promtool(t, "test", "rules", "dc.tests.yml")
}

// promtool runs the program of the system, or the one that scripts/setup.sh unpacked.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		if path, err = filepath.Abs("../.cache/promtool"); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("no promtool in PATH and none in .cache: run scripts/setup.sh test")
		}
	}
	c := exec.Command(path, args...)
	c.Dir = "prometheus"
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("promtool %q: %v\n%s", args, err, out)
	}
}

package daemon

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"hce/dc/internal/daemon/admin"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/daemon/sites"
	"hce/dc/internal/daemon/status"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

func page(t *testing.T, r *running, path string) (code int, body string) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	a, err := (&http.Client{Transport: transport, Timeout: managertest.Patience}).Get(r.endpoints[StatusName] + path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

// has reports whether f has a metric of that manager, or one without the label manager.
func has(f *dto.MetricFamily, class string) bool {
	for _, m := range f.GetMetric() {
		named := false
		for _, l := range m.GetLabel() {
			if l.GetName() == "manager" {
				named = true
				if l.GetValue() == class {
					return true
				}
			}
		}
		if !named {
			return true
		}
	}
	return false
}

// Every statistic of every manager is a metric with HELP.
func TestEveryStatisticIsAMetric(t *testing.T) {
	cfg, _ := config(t)
	cfg.Sequence, cfg.OpenExecutor = nil, nil // all classes, a real executor
	cfg.Status = status.Config{Port: -1}
	cfg.Process.Processor, cfg.Crawl.Crawler = executor.Stage{Program: "true"}, executor.Stage{Program: "true"}
	cfg.Sites.DBTask.Program = "true"
	cfg.Crawl.Sites, cfg.Process.Sites = sites.Name, sites.Name
	r := start(t, cfg)
	operator := r.operator()
	code, body := page(t, r, "/metrics")
	if code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range DefaultSequence {
		e := operator.Ask(wire.ClassAdmin, wire.AdminStat, wire.AdminFields{ClassName: class})
		fields := managertest.Object[wire.AdminFields](t, e).Fields
		if len(fields) == 0 || !has(families["dc_up"], class) {
			t.Errorf("%s has no statistics", class)
		}
		for stat, value := range fields {
			name := status.Metric(stat)
			if list, ok := value.(map[string]any); ok && len(list) == 0 {
				continue // no schedules
			}
			if f := families[name]; f == nil || f.GetHelp() == "" || !has(f, class) {
				t.Errorf("%s of %s: no metric %s", stat, class, name)
			}
			if name == "dc_statistic" {
				t.Logf("%s is only a dc_statistic", stat)
			}
		}
	}
	if code, body := page(t, r, "/healthz"); code != 200 {
		t.Errorf("health %d %s", code, body)
	}
	// "true" is not a db-task: the stores fail.
	if code, body := page(t, r, "/readyz"); code != 503 || !strings.Contains(body, "stores") {
		t.Errorf("readiness %d %s", code, body)
	}
}

func TestReadiness(t *testing.T) {
	cfg, _ := config(t)
	cfg.Status = status.Config{Port: -1}
	r := start(t, cfg)
	operator := r.operator()
	if code, body := page(t, r, "/readyz"); code != 200 {
		t.Fatalf("ready %d %s", code, body)
	}
	suspend := func(kind int) {
		operator.Ask(wire.ClassAdmin, wire.AdminSuspend, manager.Suspension{SuspendType: kind})
	}
	suspend(0)
	code, body := page(t, r, "/readyz")
	var c struct{ Reasons []string }
	if err := json.Unmarshal([]byte(body), &c); err != nil || code != 503 || len(c.Reasons) != len(cfg.Sequence)-1 || !strings.Contains(body, sites.Name+" is suspended") {
		t.Errorf("suspended: %d %s %v", code, body, err)
	}
	if code, body := page(t, r, "/healthz"); code != 200 {
		t.Errorf("health of suspended managers: %d %s", code, body)
	}
	suspend(1)
	if code, body := page(t, r, "/readyz"); code != 200 {
		t.Errorf("ready again: %d %s", code, body)
	}
	operator.Ask(wire.ClassAdmin, wire.AdminState, wire.AdminCommand{ClassName: sites.Name, Command: wire.CommandShutdown})
	testwait.Until(t, "the health names the stopped manager", func() bool {
		code, body = page(t, r, "/healthz")
		return code == 503 && strings.Contains(body, sites.Name) && !strings.Contains(body, admin.Name+`"`)
	})
	r.stop()
	if err := r.wait(); err != nil {
		t.Error(err)
	}
}

package daemonprogram

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/config"
	"hce/dc/internal/daemon"
	"hce/dc/internal/daemon/executor"
)

func read(t *testing.T, text string) (daemon.Config, *config.File) {
	t.Helper()
	var f *config.File
	var err error
	if text == "" {
		f, err = config.Load(filepath.Join("..", "..", "..", "ini", "dc-daemon.ini"))
	} else {
		f, err = config.Parse("/x/dc-daemon.ini", []byte(text))
	}
	if err != nil {
		t.Fatal(err)
	}
	app := f.Application("dc-daemon", "stderr")
	app.DataDir = "/data"
	return dcDaemon.readSettings(f, app), f
}

// The shipped file equals the defaults: no unknown key, no key without effect, and no differing
// value except the programs.
func TestShippedIni(t *testing.T) {
	shipped, f := read(t, "")
	unknown := slices.DeleteFunc(f.Unknown(), func(line string) bool { return strings.HasSuffix(line, "section [Api] is unknown") }) // package api reads it
	if f.Err() != nil || len(unknown) > 0 {
		t.Errorf("errors %v, unknown %q", f.Err(), unknown)
	}
	defaults, _ := read(t, "[Application]\n[Environment]\nslots_db=8\nslots_crawl=5\nslots_process=2\nslots_realtime=6\nslots_recrawl=3\n")
	for _, c := range []*daemon.Config{&shipped, &defaults} {
		c.Sites.DBTask, c.Crawl.Crawler, c.Crawl.DBTask, c.Process.Processor = executor.Stage{}, executor.Stage{}, executor.Stage{}, executor.Stage{}
	}
	if !reflect.DeepEqual(shipped.Crawl, defaults.Crawl) {
		t.Errorf("[BatchTasksManager]\nshipped %+v\ndefault %+v", shipped.Crawl, defaults.Crawl)
	}
	if !reflect.DeepEqual(shipped.Process, defaults.Process) {
		t.Errorf("[BatchTasksManagerProcess]\nshipped %+v\ndefault %+v", shipped.Process, defaults.Process)
	}
	if !reflect.DeepEqual(shipped.Executor, defaults.Executor) {
		t.Errorf("[Environment]\nshipped %+v\ndefault %+v", shipped.Executor, defaults.Executor)
	}
}

// The gateway and SitesManager use the same number of nodes. There is one: more would divide the
// limits of each site without a node that takes the rest.
func TestNumberOfNodes(t *testing.T) {
	for text, refused := range map[string]bool{"": false, "DRCENodes = 1\n": false, "DRCENodes = 3\n": true} {
		cfg, f := read(t, "[Application]\n"+text)
		if (f.Err() != nil) != refused || !refused && (cfg.Gateway.Nodes != 1 || cfg.Sites.Nodes != 1) {
			t.Errorf("%q: clients %d, sites %d, %v", text, cfg.Gateway.Nodes, cfg.Sites.Nodes, f.Err())
		}
		if refused && !strings.Contains(f.Err().Error(), "DRCENodes = 3, but this daemon runs all tasks on one data node") {
			t.Errorf("%q: %v", text, f.Err())
		}
	}
}

func TestWrongValuesAreNamed(t *testing.T) {
	_, f := read(t, "[Application]\n[BatchTasksManager]\nBatchDefaultMaxURLs = none\n[Environment]\nslots_db = 0\n")
	err := f.Err()
	for _, want := range []string{"BatchDefaultMaxURLs", "none", "slots_db"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

// Files of the first implementation are accepted. Keys without effect here are ignored.
func TestKeysOfTheFirstImplementation(t *testing.T) {
	_, f := read(t, "[Application]\n[BatchTasksManager]\nDTMDHost = 127.0.0.1\nPurgeMode = 1\n[SitesManager]\nRecrawlSiteMode = 1\nDRCEHost = x\n[BatchTasksManagerRealTime]\nDRCEPort = 5756\nDRCEStarterName = hce-starter-dc-rt.sh\nMaxThreads = 6\n")
	if f.Err() != nil || len(f.Unknown()) > 0 {
		t.Errorf("errors %v, unknown %q", f.Err(), f.Unknown())
	}
}

// A file of the original is accepted, with a warning for each value and key without effect that
// names its line. Programs that it does not name are those next to the daemon.
func TestOriginalFile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "original.ini"))
	if err != nil {
		t.Fatal(err)
	}
	cfg, f := read(t, string(text))
	if err := f.Err(); err != nil {
		t.Error(err)
	}
	lines := strings.Split(string(text), "\n")
	line := func(part string) string {
		return fmt.Sprintf(", line %d: ", 1+slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, part) }))
	}
	want := []string{
		line("BatchMaxExecutionTime") + "key BatchMaxExecutionTime of section [BatchTasksManager] = 6m0s is not below BatchDefaultMaxExecutionTime = 5m0s; 4m0s is used",
		line("OwnInvention") + "key OwnInvention of section [SitesManager] is unknown",
		line("log =") + "key log of section [Application] = ../ini/dc-daemon_log.ini names a logging configuration",
	}
	got := f.Unknown()
	for _, warning := range want {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, warning) }) {
			t.Errorf("no warning %q in %q", warning, got)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d warnings: %q", len(got), got)
	}
	if cfg.Crawl.BatchTime != 240*time.Second || filepath.Base(cfg.Process.Processor.Program) != "processor-task" || filepath.Base(cfg.Crawl.Crawler.Program) != "crawler-task" {
		t.Errorf("limit %v, programs %q and %q", cfg.Crawl.BatchTime, cfg.Process.Processor.Program, cfg.Crawl.Crawler.Program)
	}
}

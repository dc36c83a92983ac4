package daemonprogram

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/config"
	"hce/dc/internal/daemon/realtime"
)

// TestRealTimeKeys: each key of [BatchTasksManagerRealTime] has its effect, and an invalid
// value is refused with key and range.
func TestRealTimeKeys(t *testing.T) {
	for _, tt := range []struct {
		line    string
		effect  func(c realtime.Config) any
		want    any
		wrong   string
		refusal string
	}{
		{"", func(c realtime.Config) any {
			return fmt.Sprint(c.Timeout, c.MaxURLs, c.MaxExecution, c.MaxIterations, c.MaxThreads, c.Routing, c.Finalizer.Args)
		}, "20m0s 10 6m0s 10 6 1 [--finalize]", "", ""},
		{"server = RT", func(c realtime.Config) any { return c.Server }, "RT", "", ""},
		{"DRCECrawlerAppName = c -c x.ini", func(c realtime.Config) any { return c.Crawler.Program + strings.Join(c.Crawler.Args, " ") }, "c-c x.ini", "DRCECrawlerAppName = '", "DRCECrawlerAppName"},
		{"DRCEProcessorAppName = p -c y.ini", func(c realtime.Config) any { return strings.Join(c.Finalizer.Args, " ") }, "-c y.ini --finalize", "DRCEProcessorAppName = '", "DRCEProcessorAppName"},
		{"DRCETimeout = 5000", func(c realtime.Config) any { return c.Timeout }, 5 * time.Second, "DRCETimeout = 0", "DRCETimeout"},
		{"BatchMaxURLs = 3", func(c realtime.Config) any { return c.MaxURLs }, 3, "BatchMaxURLs = 0", "BatchMaxURLs"},
		{"BatchMaxExecutionTime = 9", func(c realtime.Config) any { return c.MaxExecution }, 9 * time.Second, "BatchMaxExecutionTime = none", "BatchMaxExecutionTime"},
		{"BatchMaxIterations = 2", func(c realtime.Config) any { return c.MaxIterations }, int64(2), "BatchMaxIterations = 101", "BatchMaxIterations"},
		{"MaxThreads = 0", func(c realtime.Config) any { return c.MaxThreads }, 0, "MaxThreads = -1", "MaxThreads"},
		{"DRCERequestRouting = 5", func(c realtime.Config) any { return c.Routing }, 5, "DRCERequestRouting = 3", "DRCERequestRouting"},
		{"DRCEHost = h\nDRCEPort = 1\nDRCEStarterName = s.sh", func(realtime.Config) any { return nil }, nil, "", ""},
	} {
		t.Run(tt.line, func(t *testing.T) {
			cfg, f := read(t, "[Application]\n[BatchTasksManagerRealTime]\n"+tt.line+"\n")
			if f.Err() != nil || len(f.Unknown()) > 0 {
				t.Fatalf("errors %v, unknown %q", f.Err(), f.Unknown())
			}
			if got := tt.effect(cfg.RealTime); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if tt.wrong == "" {
				return
			}
			var wrong *config.File
			if _, wrong = read(t, "[Application]\n[BatchTasksManagerRealTime]\n"+tt.wrong+"\n"); wrong.Err() == nil || !strings.Contains(wrong.Err().Error(), tt.refusal) {
				t.Errorf("%s: %v", tt.wrong, wrong.Err())
			}
		})
	}
}

package daemonprogram

import (
	"slices"
	"strconv"
	"time"

	"hce/dc/internal/config"
	"hce/dc/internal/daemon/realtime"
)

// realTime reads [BatchTasksManagerRealTime] (docs/spec/daemon.md 3.4).
func realTime(f *config.File) realtime.Config {
	s := f.Section(realtime.Name)
	// Keys of the first implementation's task engine, without effect here.
	s.Accept("DRCEHost", "DRCEPort", "DRCEStarterName")
	c := realtime.Config{
		Server:        s.Text("server", ""),
		Crawler:       readStage(f, s, "DRCECrawlerAppName", "crawler-task"),
		Finalizer:     readStage(f, s, "DRCEProcessorAppName", "processor-task --finalize"),
		Timeout:       s.Duration("DRCETimeout", time.Millisecond, realtime.DefaultTimeout, time.Millisecond, realtime.Longest),
		MaxURLs:       int(s.Int("BatchMaxURLs", realtime.DefaultMaxURLs, 1, realtime.MostURLs)),
		MaxExecution:  s.Duration("BatchMaxExecutionTime", time.Second, realtime.DefaultMaxExecution, time.Second, realtime.Longest),
		MaxIterations: s.Int("BatchMaxIterations", realtime.DefaultMaxIterations, 1, realtime.MostIteration),
		MaxThreads:    int(s.Int("MaxThreads", realtime.DefaultMaxThreads, 0, realtime.MaxThreads)),
	}
	routes := []string{"0", "1", "4", "5"}
	c.Routing, _ = strconv.Atoi(s.Choice("DRCERequestRouting", strconv.Itoa(realtime.DefaultRouting), routes...))
	// Without --finalize the program would store its results and answer with a Batch.
	if !slices.Contains(c.Finalizer.Args, "--finalize") {
		c.Finalizer.Args = append(c.Finalizer.Args, "--finalize")
	}
	return c
}

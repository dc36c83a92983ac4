package main

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
	// Of the engine that the first implementation ran on; there is no starter.
	s.Accept("DRCEHost", "DRCEPort", "DRCEStarterName")
	c := realtime.Config{
		Server:        s.Text("server", ""),
		Crawler:       stage(f, s, "DRCECrawlerAppName", "crawler-task"),
		Finalizer:     stage(f, s, "DRCEProcessorAppName", "processor-task --finalize"),
		Timeout:       s.Duration("DRCETimeout", time.Millisecond, realtime.DefaultTimeout, time.Millisecond, realtime.Longest),
		MaxURLs:       int(s.Int("BatchMaxURLs", realtime.DefaultMaxURLs, 1, realtime.MostURLs)),
		MaxExecution:  s.Duration("BatchMaxExecutionTime", time.Second, realtime.DefaultMaxExecution, time.Second, realtime.Longest),
		MaxIterations: s.Int("BatchMaxIterations", realtime.DefaultMaxIterations, 1, realtime.MostIteration),
		MaxThreads:    int(s.Int("MaxThreads", realtime.DefaultMaxThreads, 0, realtime.MaxThreads)),
	}
	routes := []string{"0", "1", "4", "5"}
	c.Routing, _ = strconv.Atoi(s.Choice("DRCERequestRouting", strconv.Itoa(realtime.DefaultRouting), routes...))
	// A program that is no last stage would answer with a Batch, and store its results.
	if !slices.Contains(c.Finalizer.Args, "--finalize") {
		c.Finalizer.Args = append(c.Finalizer.Args, "--finalize")
	}
	return c
}

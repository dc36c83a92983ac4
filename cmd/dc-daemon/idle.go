package main

import (
	"hce/dc/internal/config"
	"hce/dc/internal/realtime"
)

// idleKeys are keys of daemon 3 that ini files of the first implementation hold
// and whose work is not done yet. They are known, and said to have no effect.
var idleKeys = map[string][]string{
	realtime.Name: {
		"DRCEHost", "DRCEPort", "DRCETimeout", "DRCEStarterName", "DRCECrawlerAppName", "BatchMaxURLs",
		"BatchMaxExecutionTime", "MaxThreads", "DRCERequestRouting", "BatchMaxIterations",
	},
}

func markIdle(f *config.File) {
	for section, keys := range idleKeys {
		f.Section(section).Idle(keys...)
	}
}

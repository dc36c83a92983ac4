package main

import (
	"hce/dc/internal/batches"
	"hce/dc/internal/config"
	"hce/dc/internal/realtime"
)

// idleKeys are keys of daemon 3 that ini files of the first implementation hold
// and whose work is not done yet. They are known, and said to have no effect.
var idleKeys = map[string][]string{
	batches.CrawlName: append([]string{
		"IncrMinFreq", "IncrMaxDepth", "IncrMaxURLs", "IncrMode", "IncrPeriod",
		"ReturnURLsMaxNumber", "ReturnURLsPeriod", "ReturnURLsTTL", "ReturnURLsMode", "BatchDefaultFetchTypeOptions",
		"PurgeMode", "PurgeBatchDefaultMaxTasks", "PurgePeriod", "PurgeBatchDefaultMaxExecutionTime",
		"PurgeBatchDefaultMaxURLs", "PurgeBatchQueueTaskTTL", "PurgeBatchTask_STARTER", "DRCEDBAppName",
		"BatchTaskDTMNameCrawl", "BatchTaskDTMNamePurge", "BatchTaskDTMNameAging",
		"BatchTaskDTMTypeCrawl", "BatchTaskDTMTypePurge", "BatchTaskDTMTypeAging",
		"AgingMode", "AgingPeriod", "AgingBatchDefaultMaxExecutionTime", "AgingBatchDefaultMaxURLsTotal",
		"AgingBatchDefaultMaxURLsSite", "AgingBatchDefaultMaxSites", "AgingBatchQueueTaskTTL", "AgingBatchTask_STARTER",
		"AgingBatchDefaultMaxTasks", "AgingBatchURLsCriterion", "AgingBatchSitesCriterion",
	}, taskKeys...),
	batches.ProcessName: append([]string{
		"BatchTaskDTMNameProcess", "BatchTaskDTMTypeProcess", "BatchMaxExecutionTime",
	}, taskKeys...),
	realtime.Name: {
		"DRCEHost", "DRCEPort", "DRCETimeout", "DRCEStarterName", "DRCECrawlerAppName", "BatchMaxURLs",
		"BatchMaxExecutionTime", "MaxThreads", "DRCERequestRouting", "BatchMaxIterations",
	},
}

// taskKeys are those of both managers of batches.
var taskKeys = []string{
	"BatchQueueTaskCheckStateMethod", "BatchTask_IO_WAIT_MAX", "BatchTask_CPU_LOAD_MAX", "BatchTask_RAM_FREE_MIN",
	"BatchTask_RDELAY", "BatchTask_RETRY", "BatchTask_STARTER", "BatchTask_autocleanup_TTL",
	"BatchTask_autocleanup_DeleteType", "BatchTask_autocleanup_DeleteRetries", "BatchTask_autocleanup_State",
}

func markIdle(f *config.File) {
	for section, keys := range idleKeys {
		f.Section(section).Idle(keys...)
	}
}

package batches

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"hce/dc/internal/daemon/manager"
)

// longest is the maximum of periods and time limits.
const longest = 24 * time.Hour

// Limits of what an operator sets, as in the ini file (docs/spec/daemon.md 3.2, 3.3).
const (
	maxPercent = 100
	maxMemory  = 1 << 50 // bytes
	maxLooks   = 1000000
	maxTasks   = 1000
	maxRows    = 100000 // of a batch, or of a site
	maxSwept   = 1000000000
	maxDepth   = 1000000
	maxText    = 10000 // bytes of a condition
)

// declareShared declares the variables that both managers share.
func (q *queue) declareShared(period *time.Duration, periodName string, mode *bool, modeName string) {
	q.Var(
		manager.Span(periodName, period, time.Second, 0, longest),
		manager.Switch(modeName, mode),
		manager.Span("DTMDTimeout", &q.SitesTimeout, time.Millisecond, time.Millisecond, longest),
		manager.Span("BatchQueueProcessingPeriod", &q.QueuePeriod, time.Second, 0, time.Hour),
		manager.Span("BatchQueueTaskTTL", &q.limits.TaskTTL, time.Second, time.Second, longest),
		manager.Span("BatchDefaultMaxExecutionTime", &q.limits.TaskTime, time.Second, time.Second, longest),
		manager.Span("BatchMaxExecutionTime", &q.BatchTime, time.Second, time.Second, longest),
		manager.Int("BatchDefaultMaxURLs", &q.MaxURLs, 1, maxRows),
		manager.Int("BatchDefaultMaxTasks", &q.limits.MaxTasks, 0, maxTasks),
		manager.Int("BatchDefaultMaxAttempts", &q.MaxAttempts, 0, 1000),
		manager.Switch("RemoveUnprocessedBatchItems", &q.RemoveUnprocessed),
		manager.Int("BatchTask_IO_WAIT_MAX", &q.Start.MaxIOWait, -1, maxPercent),
		manager.Int("BatchTask_CPU_LOAD_MAX", &q.Start.MaxCPU, -1, maxPercent),
		manager.Int("BatchTask_RAM_FREE_MIN", &q.Start.MinRAM, -1, maxMemory),
		manager.Span("BatchTask_RDELAY", &q.Start.RetryDelay, time.Millisecond, time.Millisecond, time.Hour),
		manager.Int("BatchTask_RETRY", &q.Start.Retries, 0, maxLooks),
		manager.Span("BatchTask_autocleanup_TTL", &q.ResultTTL, time.Second, -time.Second, 365*24*time.Hour),
	)
}

// conditionVariable is a WHERE or ORDER BY of the configuration. It is checked on the node that uses
// it, which refuses an invalid one with its clause.
func conditionVariable(name string, p *string) manager.Variable {
	return manager.Text(name, p, func(text string) error {
		switch {
		case strings.TrimSpace(text) == "":
			return fmt.Errorf("is empty, must have 1 to %d bytes", maxText)
		case len(text) > maxText:
			return fmt.Errorf("has %d bytes, must be 1 to %d", len(text), maxText)
		case strings.ContainsFunc(text, unicode.IsControl):
			return errors.New("has a control character")
		}
		return nil
	})
}

// periodFunc returns the period of a schedule with a mode; 0 while it is off.
func periodFunc(mode *bool, period *time.Duration) func() time.Duration {
	return func() time.Duration {
		if !*mode {
			return 0
		}
		return *period
	}
}

package executor_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/executor/executortest"
)

func TestConformance(t *testing.T) {
	executortest.Run(t, func(t testing.TB, o executortest.Options) executortest.Harness {
		var clock executortest.Clock
		l, err := executor.OpenLocal(executor.LocalConfig{Dir: filepath.Join(t.TempDir(), "spool"),
			DefaultSlots: o.Slots, MaxQueue: o.MaxQueue, KillGrace: 2 * time.Second, Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		end := sync.OnceValue(func() error { return l.Close(context.Background()) })
		t.Cleanup(func() {
			end()
			executortest.NoChildren(t)
		})
		return executortest.Harness{Executor: l, Nodes: []string{"local"}, Close: end, Advance: func(d time.Duration) {
			clock.Add(d)
			l.Sweep()
		}}
	})
}

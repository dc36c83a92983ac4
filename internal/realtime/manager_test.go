package realtime

import (
	"strings"
	"testing"

	"hce/dc/internal/bus"
	"hce/dc/internal/dc"
	"hce/dc/internal/manager"
	"hce/dc/internal/manager/managertest"
)

func TestBatchIsRefusedAtOnce(t *testing.T) {
	b := managertest.Bus(t)
	ready := make(chan struct{})
	managertest.Run(t, New(manager.Config{Bus: b, Log: managertest.Quiet(), Ready: func() { close(ready) }}), ready)
	e := managertest.Call(t, b, bus.Inproc(Name)).Ask(dc.ClassClient, int(dc.BatchRun), nil)
	if e.Type != 117 || !strings.Contains(string(e.Object), "not served yet") {
		t.Errorf("answer %d %s", e.Type, e.Object)
	}
}

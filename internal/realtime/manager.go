// Package realtime is BatchTasksManagerRealTime: the manager that clients reach
// with BATCH (daemon 2.13). It does not run batches yet and refuses each one at
// once, so that no client waits for its time-out.
//
// Neighbours: manager below; clients sends it the requests.
package realtime

import (
	"hce/dc/internal/bus"
	"hce/dc/internal/dc"
	"hce/dc/internal/manager"
)

// Name is the class name and the inproc name.
const Name = "BatchTasksManagerRealTime"

// Manager is the manager. Create it with New.
type Manager struct {
	*manager.Loop
	refused int64
}

// New makes the manager; it opens nothing.
func New(base manager.Config) *Manager {
	base.Name = Name
	m := &Manager{Loop: manager.New(base)}
	m.Bind(Name, bus.Inproc(Name), bus.Options{})
	m.Handle(Name, dc.ClassClient, int(dc.BatchRun), m.batch)
	m.Counter("batches_crawl_fault", &m.refused)
	return m
}

func (m *Manager) batch(from manager.Peer, e dc.Event) {
	m.refused++
	m.ReplyError(from, e, "BATCH is not served yet")
}

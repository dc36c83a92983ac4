package head

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hce/dc/internal/daemon/broker"
)

// An embedded broker runs in its head, so there is one. Heads of an external broker ask whether there is another one,
// when they start and when they are connected again: two would write to one journal. The one that asks ends.

// rivalLimit is how long another head may take to answer.
const rivalLimit = 500 * time.Millisecond

// process is a head.
type process struct {
	ID   string
	Host string
	Path string // of its folder
	PID  int
}

// serveRivals answers other heads, and returns an error if there is one.
func (h *Head) serveRivals(ctx context.Context) error {
	host, _ := os.Hostname() // for people
	path, err := filepath.Abs(h.cfg.Folder)
	if err != nil {
		return err
	}
	h.self = process{rand.Text(), host, path, os.Getpid()}
	h.serving.Store(true)
	text, err := json.Marshal(h.self)
	if err != nil {
		return err
	}
	_, err = h.conn.Serve(rivalSubject, "", func(m broker.Message) {
		if err := m.Respond(text); err != nil {
			h.cfg.Log.Warn("cannot answer another head", "error", err)
		}
	})
	if err == nil {
		err = h.findRival(ctx)
	}
	return err
}

var rivalSubject = broker.HeadSubject(broker.Head, "who")

// findRival returns an error if another head answers.
func (h *Head) findRival(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, rivalLimit)
	defer cancel()
	replies, err := h.conn.Request(ctx, rivalSubject, nil, 2) // this head answers too
	for _, reply := range replies {
		var other process
		if json.Unmarshal(reply.Data, &other) == nil && other.ID != h.self.ID {
			return fmt.Errorf("another head of this cluster runs on %s in %s (process %d): a cluster has one head; stop that one, then start this one", other.Host, other.Path, other.PID)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return err
}

// checkOtherHead looks for another head that began while this one was cut off. It must not block.
func (h *Head) checkOtherHead(connected bool) {
	if !connected || !h.serving.Load() {
		return
	}
	h.work.Go(func() {
		if err := h.findRival(h.ctx); err != nil && h.ctx.Err() == nil {
			h.cfg.Log.Error("this head stops", "error", err)
			h.conn.Close() // it changes nothing from here on
			h.rival <- err
		}
	})
}

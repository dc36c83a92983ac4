package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/files"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
)

// takeHosts stores the hosts that come, and confirms them. It does not wait for nodes that are lost.
func (v mover) takeHosts(ctx context.Context, conn *broker.Conn, m cluster.HostsMove) error {
	var before cluster.HostsCounted
	if err := v.cfg.openStore().runOperation(ctx, packLimit, wire.HostsState, cluster.HostsStateRequest{Epoch: m.Epoch, Group: m.Moved}, &before); err != nil {
		return err
	}
	for _, from := range m.Previous {
		if from == m.Self {
			continue
		}
		j := journey{m.Epoch, m.Moved, from, m.Self}
		if !slices.Contains(before.Came, from) {
			here, err := v.takeFrom(ctx, j)
			if err != nil {
				return err
			}
			if !here {
				v.cfg.log.Warn("the hosts of a lost node are not waited for", "from", from, "epoch", m.Epoch, "group", m.Moved)
				continue
			}
		}
		v.moves.applyChange(func() { v.moves.came[j] = true })
		if err := confirmStored(ctx, conn, j); err != nil {
			return err
		}
	}
	return nil
}

// confirmStored tells the sender that its hosts are stored here.
func confirmStored(ctx context.Context, conn *broker.Conn, j journey) error {
	return publishMove(ctx, conn, j.From, moveMessage{parcel: parcel{journey: j}, Stored: true, Sending: time.Now().UnixNano()}, nil)
}

// takeFrom stores what one node sends: first the delays and cookies, which may be kept twice, then the rows. here is
// false if the node is lost.
func (v mover) takeFrom(ctx context.Context, j journey) (here bool, err error) {
	var pausesFile, packFile string
	err = v.moves.awaitChange(ctx, func() bool {
		var first, second bool
		pausesFile, first = v.moves.arrived[parcel{j, pausesParcel}]
		packFile, second = v.moves.arrived[parcel{j, packParcel}]
		here = first && second
		return here || slices.Contains(v.moves.lost, j.From)
	})
	if err != nil || !here {
		return false, err
	}
	if pausesFile != "" {
		text, err := os.ReadFile(filepath.Join(v.cfg.Moves, pausesFile))
		if err == nil {
			_, err = v.hostPauses(ctx, text)
		}
		if err != nil {
			return false, err
		}
	}
	var came cluster.HostsMoved
	if err := v.cfg.openStore().runOperation(ctx, packLimit, wire.HostsUnpack, cluster.HostsUnpackRequest{Epoch: j.Epoch, Group: j.Group, From: j.From, File: packFile}, &came); err != nil {
		return false, err
	}
	if packFile != "" {
		v.cfg.log.Info("hosts came", "from", j.From, "epoch", j.Epoch, "group", j.Group, "rows", came.Rows, "repeated", came.Repeated)
	}
	return true, v.unstageParcels(parcel{j, pausesParcel}, parcel{j, packParcel})
}

// unstageParcels forgets parcels that are stored.
func (v mover) unstageParcels(list ...parcel) (err error) {
	for _, p := range list {
		file := ""
		v.moves.applyChange(func() {
			file = v.moves.arrived[p]
			delete(v.moves.arrived, p)
		})
		if file != "" {
			err = errors.Join(err, files.IgnoreMissing(os.Remove(filepath.Join(v.cfg.Moves, file))))
		}
	}
	return err
}

// receiveMoves stages the parcels of other nodes and takes their confirmations until ctx ends.
func (v mover) receiveMoves(ctx context.Context, conn *broker.Conn) error {
	if v.cfg.Placement == "" {
		return nil
	}
	if err := os.MkdirAll(v.cfg.Moves, 0o700); err != nil {
		return err
	}
	if err := v.findStaged(); err != nil {
		return err
	}
	name := v.cfg.Join.Name
	c, err := conn.Consume(ctx, broker.StreamLinks, broker.MovesDurable(name), "moves."+name, broker.ConsumeOptions{}, func(d broker.Delivery) {
		if err := v.takeMove(ctx, conn, d.Data); err != nil {
			if ctx.Err() == nil {
				v.cfg.log.Warn("cannot take a part of moving hosts", "message", d.Sequence, "error", err)
			}
			_ = d.Nak(firstPause)
			return
		}
		if err := d.Ack(ctx); err != nil && ctx.Err() == nil {
			v.cfg.log.Info("a part of moving hosts will come again", "message", d.Sequence, "error", err)
		}
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	c.Stop()
	return nil
}

// whole ends the name of a parcel that has come whole; partial that of one that has not.
const whole, partial = ".in", ".part"

// findStaged finds whole parcels from before a restart, and removes parts, and parcels of steps that
// are done.
func (v mover) findStaged() error {
	found, err := os.ReadDir(v.cfg.Moves)
	place, placeErr := v.cfg.readPlacement()
	for _, f := range found {
		name, isWhole := strings.CutSuffix(f.Name(), whole)
		p, known := parcelOf(name, v.cfg.Join.Name)
		switch {
		case isWhole && known && (placeErr != nil || !hasPassed(place, p.Epoch, p.Group)):
			v.moves.applyChange(func() { v.moves.arrived[p] = f.Name() })
		case isWhole, strings.HasSuffix(f.Name(), partial):
			err = errors.Join(err, os.Remove(filepath.Join(v.cfg.Moves, f.Name())))
		}
	}
	return err
}

// parcelOf reads the name of a parcel to a node.
func parcelOf(name, self string) (p parcel, ok bool) {
	rest, kind, _ := strings.Cut(name, ".")
	p.To, p.Kind = self, kind
	rest, ok = strings.CutSuffix(rest, "-"+self)
	if n, _ := fmt.Sscanf(rest, "%d-%d-", &p.Epoch, &p.Group); !ok || n != 2 {
		return p, false
	}
	p.From = rest[len(fmt.Sprintf("%d-%d-", p.Epoch, p.Group)):]
	return p, p.fileName() == name
}

// takeMove takes one message. What belongs to no sending that is under way is dropped: its sender
// sends everything again.
func (v mover) takeMove(ctx context.Context, conn *broker.Conn, data []byte) error {
	head, part, _ := bytes.Cut(data, []byte("\n"))
	var m moveMessage
	if err := json.Unmarshal(head, &m); err != nil {
		v.cfg.log.Error("dropped an unreadable message of moving hosts", "error", err)
		return nil
	}
	self := v.cfg.Join.Name
	switch {
	case m.Stored && m.From == self && broker.CheckName(m.To) == nil:
		v.moves.applyChange(func() { v.moves.stored[m.journey] = true })
		return nil
	case m.Stored, m.To != self, broker.CheckName(m.From) != nil, m.Kind != packParcel && m.Kind != pausesParcel:
		v.cfg.log.Error("dropped a message of moving hosts with wrong names", "from", m.From, "to", m.To, "kind", m.Kind)
		return nil
	}
	v.moves.mu.Lock()
	came := v.moves.came[m.journey]
	v.moves.mu.Unlock()
	place, err := v.cfg.readPlacement()
	switch {
	case came, err == nil && hasPassed(place, m.Epoch, m.Group): // the confirmation was lost
		return confirmStored(ctx, conn, m.journey)
	case m.Parts == 0:
		v.moves.applyChange(func() { v.moves.arrived[m.parcel] = "" })
		return nil
	}
	return v.stagePart(m, part)
}

// stagePart writes a part to the file of its sending. The last part completes the file.
func (v mover) stagePart(m moveMessage, part []byte) error {
	path := filepath.Join(v.cfg.Moves, fmt.Sprintf("%s.%d%s", m.fileName(), m.Sending, partial))
	flags := os.O_RDWR
	if m.Part == 0 {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil // its beginning is lost
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = f.WriteAt(part, int64(m.Part)*partSize); err != nil || m.Part < m.Parts-1 {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if digest, _, err := digestOf(f); err != nil || digest != m.Digest {
		v.cfg.log.Warn("a file of moving hosts is incomplete; it comes again", "from", m.From, "epoch", m.Epoch, "group", m.Group, "error", err)
		return os.Remove(path)
	}
	name := m.fileName() + whole
	if err := errors.Join(os.Rename(path, filepath.Join(v.cfg.Moves, name)), files.SyncFolder(v.cfg.Moves)); err != nil {
		return err
	}
	v.moves.applyChange(func() { v.moves.arrived[m.parcel] = name })
	return nil
}

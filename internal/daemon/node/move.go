package node

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/files"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/placement"
)

// A step of a change of members on one node (docs/decisions/0018-moving-hosts.md). It is an entry of
// the journal, which comes again until step has returned nil.
//
//	placement.json          says which steps are done; written last
//	dc_moves/E-G-FROM-TO.pack   what leaves; HOSTS_PACK writes it, HOSTS_DROP ends it
//	dc_moves/E-G-FROM-TO.in     what came so far; the parts of one sending, in order
//	notes in the store      HOSTS_UNPACK and HOSTS_DROP know what they did
//
// The sender sends everything again while it is not confirmed; the receiver confirms what it has
// stored as often as it comes.

// moveMessage is the head line of a message to "moves.NAME". The bytes of a part follow the line.
type moveMessage struct {
	Epoch int64  `json:"epoch"`
	Group int    `json:"group"`
	From  string `json:"from"`
	To    string `json:"to"`

	Stored bool `json:"stored,omitempty"` // TO confirms to FROM; there are no parts

	Sending int64  `json:"sending,omitempty"` // number of this sending of the whole file
	Part    int    `json:"part,omitempty"`
	Parts   int    `json:"parts,omitempty"` // 0: nothing moves
	Digest  string `json:"digest,omitempty"`
}

// key identifies what one node sends to another in one step.
func (m moveMessage) key() string { return fmt.Sprintf("%d-%d-%s-%s", m.Epoch, m.Group, m.From, m.To) }

const (
	partSize    = 480 << 10       // bytes; with the head line below broker.MaxPayload
	quietWait   = 5 * time.Second // until the tasks of the batch managers are ended
	packLimit   = 2 * time.Hour   // of one operation on hosts
	moveLook    = 100 * time.Millisecond
	publishWait = 10 * time.Second
)

// moves is the state of moving hosts. Goroutines share it.
type moves struct {
	// storing is read-locked while links are stored, and locked while a step runs.
	storing sync.RWMutex

	mu      sync.Mutex
	changed chan struct{}     // closed at each change
	arrived map[string]string // by key: the staged file, "" for an empty one
	stored  map[string]bool   // by key: confirmed to this node
	waiting []string          // nodes that the running step waits for
}

func (m *moves) note(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
	close(m.changed)
	m.changed = make(chan struct{})
}

// await returns when done is true. done runs locked, and names the nodes that are waited for.
func (m *moves) await(ctx context.Context, period time.Duration, done func() (waiting []string)) error {
	for {
		m.mu.Lock()
		m.waiting = done()
		left, changed := len(m.waiting), m.changed
		m.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		case <-time.After(period):
		}
	}
}

// step does one step of a change. conn is the connection of the session.
func (a *Agent) step(ctx context.Context, conn *broker.Conn, t executor.Task) error {
	var m wire.HostsMove
	if err := json.Unmarshal(t.Stdin, &m); err != nil {
		return fmt.Errorf("read step: %w", err)
	}
	m.Self = a.cfg.Join.Name
	if err := m.Check("step"); err != nil {
		return err
	}
	if p, err := a.placed(); err == nil && (p.Epoch > m.Epoch || p.Epoch == m.Epoch && (p.Groups == 0 || p.Moved > m.Moved)) {
		return nil // done before
	}
	if !slices.Contains(m.Members, m.Self) && !slices.Contains(m.Previous, m.Self) {
		return nil
	}
	begun := time.Now()
	a.post(func() { a.setMoving(true) })
	defer func() { a.post(func() { a.setMoving(false) }) }()
	if err := a.quiet(ctx); err != nil {
		return err
	}
	a.moves.storing.Lock()
	defer a.moves.storing.Unlock()
	if err := a.exchange(ctx, conn, m); err != nil {
		return err
	}
	if err := a.writePlacement(m.Next()); err != nil {
		return err
	}
	a.Log().Info("a group of hosts has moved", "epoch", m.Epoch, "group", m.Moved, "groups", m.Groups, "took", time.Since(begun).Round(time.Millisecond))
	return nil
}

// quiet returns when the batch managers are held and none of their tasks runs. It ends tasks that run
// for longer than quietWait.
func (a *Agent) quiet(ctx context.Context) error {
	begun := time.Now()
	for {
		held := make(chan bool, 1)
		a.post(func() { held <- a.allHeld() })
		var all bool
		select {
		case all = <-held:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		tasks, err := activeTasks(ctx, a.cfg.Pool)
		if err != nil {
			return err
		}
		if all && len(tasks) == 0 {
			return nil
		}
		if time.Since(begun) > quietWait {
			if err := cancelOwn(ctx, a.cfg.Pool); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(moveLook):
		}
	}
}

// exchange sends what leaves, stores what comes, and deletes what has left.
func (a *Agent) exchange(ctx context.Context, conn *broker.Conn, m wire.HostsMove) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var work sync.WaitGroup
	run := func(part func(context.Context) error) {
		work.Go(func() {
			if err := part(ctx); err != nil {
				cancel(err)
			}
		})
	}
	if slices.Contains(m.Previous, m.Self) {
		run(func(ctx context.Context) error { return a.giveHosts(ctx, conn, m) })
	}
	if slices.Contains(m.Members, m.Self) {
		run(func(ctx context.Context) error { return a.takeHosts(ctx, conn, m) })
	}
	work.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if next := m.Next(); next.Groups == 0 && slices.Contains(m.Members, m.Self) {
		return a.adopt(ctx, conn, m)
	}
	return nil
}

// giveHosts sends the hosts of this node that leave, and deletes them when all receivers have them.
func (a *Agent) giveHosts(ctx context.Context, conn *broker.Conn, m wire.HostsMove) error {
	var packed wire.HostsPacked
	if err := a.store().hosts(ctx, wire.HostsPack, wire.HostsPackRequest{Move: m}, &packed); err != nil {
		return err
	}
	files := map[string]string{}
	for _, p := range packed.Packs {
		files[p.To] = p.File
		a.Log().Info("hosts leave", "to", p.To, "epoch", m.Epoch, "group", m.Moved, "rows", p.Rows, "bytes", p.Bytes)
	}
	if !packed.Done { // otherwise all receivers had confirmed
		if err := a.sendPacks(ctx, conn, m, files); err != nil {
			return err
		}
	}
	var gone wire.HostsMoved
	return a.store().hosts(ctx, wire.HostsDrop, wire.HostsPackRequest{Move: m}, &gone)
}

// sendPacks sends a file, or an empty message, to each new owner until it has confirmed.
func (a *Agent) sendPacks(ctx context.Context, conn *broker.Conn, m wire.HostsMove, files map[string]string) error {
	to := func(name string) moveMessage {
		return moveMessage{Epoch: m.Epoch, Group: m.Moved, From: m.Self, To: name}
	}
	open := func() (names []string) {
		for _, name := range m.Members {
			if name != m.Self && !a.moves.stored[to(name).key()] {
				names = append(names, name)
			}
		}
		return names
	}
	for {
		a.moves.mu.Lock()
		names := open()
		a.moves.mu.Unlock()
		for _, name := range names {
			message := to(name)
			message.Sending = time.Now().UnixNano()
			if err := a.sendPack(ctx, conn, message, files[name]); err != nil {
				return err
			}
		}
		again := 2 * a.cfg.Lease
		waiting, cancel := context.WithTimeout(ctx, again)
		err := a.moves.await(waiting, again, open)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		a.Log().Warn("hosts are not confirmed; sending them again", "epoch", m.Epoch, "group", m.Moved)
	}
}

// sendPack publishes a file in parts.
func (a *Agent) sendPack(ctx context.Context, conn *broker.Conn, message moveMessage, file string) error {
	if file == "" {
		return publishMove(ctx, conn, message.To, message, nil)
	}
	f, err := os.Open(filepath.Join(a.cfg.Moves, file))
	if err != nil {
		return err
	}
	defer f.Close()
	digest := sha256.New()
	size, err := io.Copy(digest, f)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	message.Parts, message.Digest = int((size+partSize-1)/partSize), hex.EncodeToString(digest.Sum(nil))
	part := make([]byte, partSize)
	for message.Part = range message.Parts {
		n, err := io.ReadFull(f, part)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if err := publishMove(ctx, conn, message.To, message, part[:n]); err != nil {
			return err
		}
	}
	return nil
}

// publishMove appends a message for a node to the stream. It repeats while the stream is full or away.
func publishMove(ctx context.Context, conn *broker.Conn, to string, message moveMessage, part []byte) error {
	head, err := json.Marshal(message)
	if err != nil {
		return err
	}
	data := slices.Concat(head, []byte("\n"), part)
	id := fmt.Sprintf("%s-%t-%d-%d", message.key(), message.Stored, message.Sending, message.Part)
	for {
		limited, cancel := context.WithTimeout(ctx, publishWait)
		err := conn.Publish(limited, "moves."+to, id, data)
		cancel()
		if err == nil || ctx.Err() != nil || errors.Is(err, broker.ErrTooLarge) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
}

// takeHosts stores the hosts that come. It does not wait for nodes that are lost.
func (a *Agent) takeHosts(ctx context.Context, conn *broker.Conn, m wire.HostsMove) error {
	for _, from := range m.Previous {
		if from == m.Self {
			continue
		}
		message := moveMessage{Epoch: m.Epoch, Group: m.Moved, From: from, To: m.Self}
		file, here, err := a.awaitPack(ctx, conn, message)
		if err != nil {
			return err
		}
		if !here {
			a.Log().Warn("the hosts of a lost node are not waited for", "from", from, "epoch", m.Epoch, "group", m.Moved)
			continue
		}
		if file != "" {
			var came wire.HostsMoved
			request := wire.HostsUnpackRequest{Epoch: m.Epoch, Group: m.Moved, From: from, File: file}
			if err := a.store().hosts(ctx, wire.HostsUnpack, request, &came); err != nil {
				return err
			}
			a.Log().Info("hosts came", "from", from, "epoch", m.Epoch, "group", m.Moved, "rows", came.Rows, "repeated", came.Repeated)
		}
		message.Stored, message.Sending = true, time.Now().UnixNano()
		if err := publishMove(ctx, conn, from, message, nil); err != nil {
			return err
		}
		if err := a.unstage(message, file); err != nil {
			return err
		}
	}
	return nil
}

// awaitPack waits until all of a file has come. here is false if the sender is lost.
func (a *Agent) awaitPack(ctx context.Context, conn *broker.Conn, message moveMessage) (file string, here bool, err error) {
	for {
		waiting, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := a.moves.await(waiting, time.Second, func() []string {
			if file, here = a.moves.arrived[message.key()]; here {
				return nil
			}
			return []string{message.From}
		})
		cancel()
		if err == nil || ctx.Err() != nil {
			return file, here, err
		}
		gone, err := readGone(ctx, conn)
		if err == nil && slices.Contains(gone.Lost, message.From) {
			return "", false, nil
		}
	}
}

// unstage forgets a file that is stored.
func (a *Agent) unstage(message moveMessage, file string) error {
	a.moves.note(func() { delete(a.moves.arrived, message.key()) })
	if file == "" {
		return nil
	}
	return files.IgnoreMissing(os.Remove(filepath.Join(a.cfg.Moves, file)))
}

// adopt gives this node its part of the hosts of lost nodes.
func (a *Agent) adopt(ctx context.Context, conn *broker.Conn, m wire.HostsMove) error {
	gone, err := readGone(ctx, conn)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(m.Previous, func(name string) bool { return slices.Contains(gone.Lost, name) }) {
		return nil
	}
	var adopted wire.HostsMoved
	if err := a.store().hosts(ctx, wire.HostsAdopt, wire.HostsAdoptRequest{Placement: m.Next()}, &adopted); err != nil {
		return err
	}
	a.Log().Info("roots of lost hosts begin again", "rows", adopted.Rows)
	return nil
}

// receiveMoves stages the files of other nodes and takes their confirmations until ctx ends.
func (a *Agent) receiveMoves(ctx context.Context, conn *broker.Conn) error {
	if a.cfg.Placement == "" {
		return nil
	}
	if err := os.MkdirAll(a.cfg.Moves, 0o700); err != nil {
		return err
	}
	if err := a.findStaged(); err != nil {
		return err
	}
	name := a.cfg.Join.Name
	c, err := conn.Consume(ctx, broker.StreamLinks, broker.MovesDurable(name), "moves."+name, broker.ConsumeOptions{}, func(d broker.Delivery) {
		if err := a.takeMove(ctx, conn, d.Data); err != nil && ctx.Err() == nil {
			a.Log().Warn("cannot take a part of moving hosts", "message", d.Sequence, "error", err)
			_ = d.Nak(firstPause)
			return
		}
		if err := d.Ack(ctx); err != nil && ctx.Err() == nil {
			a.Log().Info("a part of moving hosts will come again", "message", d.Sequence, "error", err)
		}
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	c.Stop()
	return nil
}

// findStaged finds whole files from before a restart, and removes parts of others.
func (a *Agent) findStaged() error {
	found, err := os.ReadDir(a.cfg.Moves)
	for _, f := range found {
		if key, whole := strings.CutSuffix(f.Name(), ".in"); whole {
			a.moves.note(func() { a.moves.arrived[key] = f.Name() })
		} else if strings.HasSuffix(f.Name(), ".part") {
			err = errors.Join(err, os.Remove(filepath.Join(a.cfg.Moves, f.Name())))
		}
	}
	return err
}

// takeMove takes one message. What belongs to no sending that is under way is dropped: its sender
// sends everything again.
func (a *Agent) takeMove(ctx context.Context, conn *broker.Conn, data []byte) error {
	head, part, _ := bytes.Cut(data, []byte("\n"))
	var m moveMessage
	if err := json.Unmarshal(head, &m); err != nil {
		a.Log().Error("dropped an unreadable message of moving hosts", "error", err)
		return nil
	}
	if m.Stored {
		a.moves.note(func() { a.moves.stored[m.key()] = true })
		return nil
	}
	if broker.CheckName(m.From) != nil || m.To != a.cfg.Join.Name {
		a.Log().Error("dropped a message of moving hosts with wrong names", "from", m.From, "to", m.To)
		return nil
	}
	if p, err := a.placed(); err == nil && (p.Epoch > m.Epoch || p.Epoch == m.Epoch && (p.Groups == 0 || p.Moved > m.Group)) {
		m.Stored = true // a step that is done; the confirmation was lost
		return publishMove(ctx, conn, m.From, m, nil)
	}
	if m.Parts == 0 {
		a.moves.note(func() { a.moves.arrived[m.key()] = "" })
		return nil
	}
	return a.stage(m, part)
}

// stage appends a part to the file of its sending. The last part completes the file.
func (a *Agent) stage(m moveMessage, part []byte) error {
	path := filepath.Join(a.cfg.Moves, fmt.Sprintf("%s-%d.part", m.key(), m.Sending))
	flags := os.O_WRONLY
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
	_, err = f.WriteAt(part, int64(m.Part)*partSize)
	last := m.Part == m.Parts-1
	if err == nil && last {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil || !last {
		return err
	}
	if digest, err := digestOf(path); err != nil || digest != m.Digest {
		a.Log().Warn("a file of moving hosts is incomplete; it comes again", "from", m.From, "epoch", m.Epoch, "group", m.Group, "error", err)
		return os.Remove(path)
	}
	name := m.key() + ".in"
	if err := errors.Join(os.Rename(path, filepath.Join(a.cfg.Moves, name)), files.SyncFolder(a.cfg.Moves)); err != nil {
		return err
	}
	a.moves.note(func() { a.moves.arrived[m.key()] = name })
	return nil
}

func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	digest := sha256.New()
	_, err = io.Copy(digest, f)
	return hex.EncodeToString(digest.Sum(nil)), err
}

// placed reads placement.json.
func (a *Agent) placed() (placement.Placement, error) {
	text, err := os.ReadFile(a.cfg.Placement)
	if err != nil {
		return placement.Placement{}, err
	}
	return readMembers(text, a.cfg.Join.Name)
}

// goneNodes is the value of the key "gone" of the table "cluster": names that never come back.
type goneNodes struct {
	Lost    []string `json:"lost"`    // nobody waits for their hosts
	Removed []string `json:"removed"` // their hosts have moved
}

func readGone(ctx context.Context, conn *broker.Conn) (gone goneNodes, err error) {
	table, err := conn.Table(ctx, broker.TableCluster, broker.TableConfig{})
	if err != nil {
		return gone, err
	}
	e, err := table.Get(ctx, "gone")
	if errors.Is(err, broker.ErrNotFound) {
		return gone, nil
	}
	if err == nil {
		err = json.Unmarshal(e.Value, &gone)
	}
	return gone, err
}

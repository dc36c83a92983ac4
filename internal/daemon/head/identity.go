package head

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/wire/cluster"
)

const (
	// refusedLimit is how long a refused process is shown.
	refusedLimit = time.Hour
	// mostRefused bounds the refused processes of one node that are shown.
	mostRefused = 4
)

// identities decides which process is a node (docs/decisions/0023-identity.md). Its methods may be called from any
// goroutine.
type identities struct {
	h      *Head
	signs  table
	mu     sync.Mutex
	byName map[string]*identity
}

// table has what identities need of broker.Table.
type table interface {
	Get(ctx context.Context, key string) (broker.Entry, error)
}

// identity is what the head knows about the process that is a node, and about others.
type identity struct {
	cluster.NodeIdentity
	heard    time.Time            // the last sign of life; at first the start of the head
	revision uint64               // of that sign of life
	beat     int64                // its number
	asked    map[string]time.Time // first question of each process that waits
	refused  []refusedNode
}

type refusedNode struct {
	cluster.RefusedNode
	seen time.Time
}

// serveIdentities begins to decide which process is a node.
func (h *Head) serveIdentities(ctx context.Context) error {
	signs, err := h.conn.Table(ctx, broker.TableNodes, broker.TableConfig{})
	if err != nil {
		return err
	}
	d := &identities{h: h, signs: signs, byName: map[string]*identity{}}
	h.identities = d
	if err := h.noteStart(ctx); err != nil {
		return err
	}
	_, err = h.conn.Serve(broker.HeadSubject("*", "identity"), "", func(m broker.Message) {
		h.work.Go(func() { d.serveClaim(m) })
	})
	return err
}

// noteStart stores that the head has started.
func (h *Head) noteStart(ctx context.Context) error {
	var s cluster.HeadStarts
	e, err := h.table.Get(ctx, cluster.IdentitiesKey)
	switch {
	case errors.Is(err, broker.ErrNotFound):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(e.Value, &s); err != nil {
			return fmt.Errorf("read the starts of the head: %w", err)
		}
	}
	s.Starts = append(s.Starts, rand.Text()[:10])
	s.Starts = s.Starts[max(0, len(s.Starts)-cluster.MostStarts):]
	text, err := json.Marshal(s)
	if err == nil {
		_, err = h.table.Put(ctx, cluster.IdentitiesKey, text)
	}
	return err
}

func (d *identities) serveClaim(m broker.Message) {
	ctx, cancel := context.WithTimeout(d.h.ctx, callLimit)
	defer cancel()
	name := strings.Split(m.Subject, ".")[2]
	var c cluster.IdentityClaim
	err := json.Unmarshal(m.Data, &c)
	var answer cluster.IdentityAnswer
	if err == nil {
		answer, err = d.answerClaim(ctx, name, c)
	}
	var data []byte
	if err == nil {
		data, err = json.Marshal(answer)
	}
	if err == nil {
		err = m.Respond(data)
	}
	if err != nil && d.h.ctx.Err() == nil {
		d.h.cfg.Log.Warn("cannot answer which process is a node; it asks again", "node", name, "error", err)
	}
}

// identityOf returns what is known about a node. Call it with d.mu held.
func (d *identities) identityOf(ctx context.Context, name string) (*identity, error) {
	if one := d.byName[name]; one != nil {
		return one, nil
	}
	one := &identity{heard: time.Now(), asked: map[string]time.Time{}}
	e, err := d.h.table.Get(ctx, cluster.IdentityKey(name))
	switch {
	case errors.Is(err, broker.ErrNotFound):
	case err != nil:
		return nil, err
	default:
		if err := json.Unmarshal(e.Value, &one.NodeIdentity); err != nil {
			return nil, fmt.Errorf("read the identity of node %s: %w", name, err)
		}
	}
	d.byName[name] = one
	return one, nil
}

// recordHeartbeat takes a sign of life.
func (d *identities) recordHeartbeat(ctx context.Context, e broker.Entry) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	one, err := d.identityOf(ctx, e.Key)
	if err != nil || !one.recordHeartbeat(e, time.Now()) {
		return err
	}
	d.h.cfg.Log.Error("two processes give signs of life as one node: a running machine was copied. Both stop, and one of them goes on", "node", e.Key, "host", one.Host, "path", one.Path)
	next := one.NodeIdentity
	next.Session = rand.Text()
	if _, err = d.storeIdentity(ctx, e.Key, next); err == nil {
		one.NodeIdentity = next
	}
	return err
}

// recordHeartbeat takes a sign of life. It reports whether two processes have sent signs of the same session: their numbers do not
// rise.
func (one *identity) recordHeartbeat(e broker.Entry, now time.Time) (twice bool) {
	var sign struct {
		Instance string
		Beat     int64
	}
	if json.Unmarshal(e.Value, &sign) != nil || sign.Instance != one.Session || e.Revision == one.revision {
		return false
	}
	twice = e.Revision > one.revision && one.beat > 0 && sign.Beat <= one.beat
	one.heard, one.revision, one.beat = now, e.Revision, sign.Beat
	return twice
}

// answerClaim decides about a claim.
func (d *identities) answerClaim(ctx context.Context, name string, c cluster.IdentityClaim) (cluster.IdentityAnswer, error) {
	owns := d.h.hasData(name)
	d.mu.Lock()
	defer d.mu.Unlock()
	one, err := d.identityOf(ctx, name)
	if err != nil {
		return cluster.IdentityAnswer{}, err
	}
	// A sign of life may be on its way.
	if e, err := d.signs.Get(ctx, name); err == nil {
		one.recordHeartbeat(e, time.Now())
	} else if !errors.Is(err, broker.ErrNotFound) {
		return cluster.IdentityAnswer{}, err
	}
	now := time.Now()
	switch v := one.judgeClaim(c, owns, now); v {
	case accepted, moved:
		return d.grantIdentity(ctx, name, one, one.acceptedIdentity(c, v == moved, now))
	case waiting:
		if one.asked[c.Process].IsZero() {
			one.asked[c.Process] = now
		}
		return cluster.IdentityAnswer{Wait: "node " + name + " may still run " + whereOf(one.NodeIdentity)}, nil
	default:
		reason := one.refusalReason(v, name, c.NodeIdentity)
		d.h.cfg.Log.Error("refused a second node with the identity of another one", "node", name, "host", c.Host, "path", c.Path, "pid", c.PID, "folder", c.Folder, "reason", reason)
		one.keepRefused(c, reason, now)
		return cluster.IdentityAnswer{Refused: reason}, nil
	}
}

// grantIdentity makes a process the node. Call it with d.mu held.
func (d *identities) grantIdentity(ctx context.Context, name string, one *identity, next cluster.NodeIdentity) (cluster.IdentityAnswer, error) {
	revision, err := d.storeIdentity(ctx, name, next)
	if err != nil {
		return cluster.IdentityAnswer{}, err
	}
	if next.Key != one.Key && one.Folder != "" {
		d.h.cfg.Log.Info("the data folder of a node is at another place", "node", name, "from", whereOf(one.NodeIdentity), "to", whereOf(next))
	}
	one.NodeIdentity, one.heard, one.beat = next, time.Now(), 0
	clear(one.asked)
	one.refused = slices.DeleteFunc(one.refused, func(r refusedNode) bool { return r.Host == next.Host && r.Path == next.Path })
	return cluster.IdentityAnswer{Key: next.Key, Epoch: next.Epoch, Revision: revision}, nil
}

func (d *identities) storeIdentity(ctx context.Context, name string, next cluster.NodeIdentity) (revision uint64, err error) {
	text, err := json.Marshal(next)
	if err != nil {
		return 0, err
	}
	return d.h.table.Put(ctx, cluster.IdentityKey(name), text)
}

// verdict is what the head decides about a claim.
type verdict int

const (
	accepted   verdict = iota // the process is the node, at the same place as before
	moved                     // the process is the node; the folder is at another place than before
	waiting                   // the process that is the node may live
	living                    // refused: the process that is the node lives
	outdated                  // refused: the folder is an older copy
	unexpected                // refused: the data of the node are in another folder
)

// judgeClaim decides about a claim. hasData says that another folder would lose data. one.asked says when a process that
// waits asked first.
func (one *identity) judgeClaim(c cluster.IdentityClaim, hasData bool, now time.Time) verdict {
	// A folder of a later epoch is newer than what this head knows: its own folder comes from a backup.
	same := c.Folder == one.Folder && (c.Key == one.Key || c.Epoch > one.Epoch)
	switch {
	case one.Folder == "": // the first one
		return moved
	case c.Previous != "" && c.Previous == one.Session:
		return accepted
	case !one.Accept && c.Folder != one.Folder && hasData:
		return unexpected
	case !one.Accept && c.Folder == one.Folder && !same:
		return outdated
	case same && c.Place != "" && c.Place == one.Place && c.Process != one.Process && c.Previous == "":
		return accepted // it holds the lock of the folder, so the former process has ended
	case now.Sub(one.heard) > one.Lease+one.Lease/2: // it stops within a fifth of the lease after its end
		return moved
	}
	if first := one.asked[c.Process]; !first.IsZero() && one.heard.After(first) {
		return living
	}
	return waiting
}

// acceptedIdentity is the identity after a claim.
func (one *identity) acceptedIdentity(c cluster.IdentityClaim, moved bool, now time.Time) cluster.NodeIdentity {
	next := c.NodeIdentity
	next.Since, next.Accept = one.Since, one.Accept
	if c.Process != one.Process {
		next.Since = now.UTC().Format(time.DateTime)
	}
	if moved {
		next.Key, next.Accept = cmp.Or(c.Next, c.Key), false
		next.Epoch = max(c.Epoch, one.Epoch) + 1
	}
	return next
}

// whereOf names a process and its folder for people.
func whereOf(n cluster.NodeIdentity) string {
	return fmt.Sprintf("on %s in %s (process %d)", n.Host, n.Path, n.PID)
}

// refusalReason says why a process is refused, and what to do.
func (one *identity) refusalReason(v verdict, name string, c cluster.NodeIdentity) string {
	accept := fmt.Sprintf("\"dc-admin node accept %s\" on the head, then start dc-node here again", name)
	switch v {
	case outdated:
		return fmt.Sprintf("the data folder %s on %s is an older copy: node %s is now %s, since %s UTC. Stop and disable dc-node here, and remove this copy. "+
			"Only if that folder is lost and this one is its backup: %s", c.Path, c.Host, name, whereOf(one.NodeIdentity), one.Since, accept)
	case unexpected:
		return fmt.Sprintf("the data of node %s are in another folder than %s on %s: they are %s, since %s UTC. Start dc-node with that folder, or restore its backup here. "+
			"To use this machine as another node: dc-admin node add with a name of its own. If this is the folder all the same: %s", name, c.Path, c.Host, whereOf(one.NodeIdentity), one.Since, accept)
	}
	return fmt.Sprintf("node %s runs already %s since %s UTC; %s has the same identity. Stop and disable dc-node here. "+
		"To use this machine as another node: an empty data folder, and dc-admin node add with a name of its own. To move the node here: stop the other one, then start this one", name, whereOf(one.NodeIdentity), one.Since, strings.TrimPrefix(whereOf(c), "on "))
}

// keepRefused notes a refused process, to be shown.
func (one *identity) keepRefused(c cluster.IdentityClaim, reason string, now time.Time) {
	delete(one.asked, c.Process)
	one.refused = slices.DeleteFunc(one.refused, func(r refusedNode) bool {
		return r.Host == c.Host && r.Path == c.Path || now.Sub(r.seen) > refusedLimit
	})
	one.refused = append(one.refused, refusedNode{cluster.RefusedNode{
		Host: c.Host, Path: c.Path, PID: c.PID, Folder: c.Folder, Seen: now.UTC().Format(time.DateTime), Reason: reason,
	}, now})
	one.refused = one.refused[max(0, len(one.refused)-mostRefused):]
}

// refusedOf returns the processes that were refused lately.
func (d *identities) refusedOf(name string) (list []cluster.RefusedNode) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.byName[name]
	if one == nil {
		return nil
	}
	for _, r := range one.refused {
		if time.Since(r.seen) <= refusedLimit {
			list = append(list, r.RefusedNode)
		}
	}
	return list
}

// acceptAnyFolder lets any folder be a node once.
func (d *identities) acceptAnyFolder(ctx context.Context, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	one, err := d.identityOf(ctx, name)
	if err != nil {
		return err
	}
	if one.Folder == "" {
		return fmt.Errorf("node %s was never here: nothing has to be accepted", name)
	}
	next := one.NodeIdentity
	next.Accept = true
	if _, err = d.storeIdentity(ctx, name, next); err == nil {
		one.NodeIdentity, one.refused = next, nil
	}
	return err
}

// forgetIdentity removes the identity of a name, which a new node may get.
func (d *identities) forgetIdentity(ctx context.Context, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.byName, name)
	return d.h.table.Delete(ctx, cluster.IdentityKey(name))
}

// hasData reports whether a node has data that no other folder has.
func (h *Head) hasData(name string) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return slices.Contains(h.members.Holders(), name) && (h.members.Sealed || !h.cfg.Hosts)
}

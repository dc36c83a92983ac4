package node

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/jetstream"
	"hce/dc/internal/files"
	"hce/dc/internal/wire/cluster"
)

// identityFile is the file in the data folder that says which node it is.
const identityFile = "node.identity"

// RefusedError means that another process, or another data folder, is the node. The message says which one, and
// what to do.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return "the head refuses this process: " + e.Reason }

// folderIdentity is the content of identityFile. A copy of the folder has it too.
type folderIdentity struct {
	Folder string `json:"folder"`
	Key    string `json:"key"`
	Epoch  int64  `json:"epoch"` // how often Key has changed
	// Next replaces Key when the head has accepted the folder at another place. It is stored before the head gets
	// it, so that a kill in between does not make the folder look like an older copy.
	Next string `json:"next,omitempty"`
	// Head is the last start of the head that this folder has seen.
	Head string `json:"head,omitempty"`
}

// identity is this process and its data folder, as the head knows them. The worker of the session owns it.
type identity struct {
	path    string // "": the node has none
	process string
	session string // the last one that the head has accepted; "": none
	since   uint64 // revision of the key with this session
	folder  folderIdentity
}

func newIdentity(dataDir string) identity {
	if dataDir == "" {
		return identity{}
	}
	return identity{path: filepath.Join(dataDir, identityFile), process: rand.Text()}
}

// readFile reads the file; it makes a new identity if the file is missing.
func (i *identity) readFile() error {
	text, err := os.ReadFile(i.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		i.folder = folderIdentity{Folder: rand.Text(), Key: rand.Text()}
		return i.writeFile()
	case err != nil:
		return fmt.Errorf("read the identity of this data folder: %w", err)
	}
	i.folder = folderIdentity{}
	if err := json.Unmarshal(text, &i.folder); err != nil || i.folder.Folder == "" || i.folder.Key == "" {
		return fmt.Errorf("the identity of this data folder, %s, is damaged: remove it, then start dc-node again after \"dc-admin node accept\" on the head", i.path)
	}
	return nil
}

func (i *identity) writeFile() error {
	text, err := json.Marshal(i.folder)
	if err == nil {
		err = files.Write(i.path, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the identity of this data folder: %w", err)
	}
	return nil
}

// adoptKey makes a key the one of the folder.
func (i *identity) adoptKey(key string, epoch int64, head string) error {
	next := folderIdentity{Folder: i.folder.Folder, Key: key, Epoch: epoch, Head: head}
	if i.folder == next {
		return nil
	}
	i.folder = next
	return i.writeFile()
}

// prepareNextKey has a next key in the file.
func (i *identity) prepareNextKey() error {
	if i.folder.Next != "" {
		return nil
	}
	i.folder.Next = rand.Text()
	return i.writeFile()
}

// placeOf names a folder on this machine since its start. Two processes at the same place are not in the folder at
// the same time, because of its lock. It is "" if the place cannot be known.
func placeOf(folder string) string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	info, err := os.Stat(folder)
	if err != nil {
		return ""
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s %d %d", bytes.TrimSpace(boot), s.Dev, s.Ino)
}

const (
	claimLimit = 10 * time.Second // of one question to the head
	claimPause = 300 * time.Millisecond

	behindTries = 3
)

// claimIdentity asks the head whether this process is the node, and waits while another one may still be. It returns the name
// of the session, "" if the head is older than this question. The error is a *RefusedError if this process must end.
func (a *Agent) claimIdentity(ctx context.Context, conn *broker.Conn, table *broker.Table) (session string, err error) {
	i := &a.identity
	if i.path == "" {
		return "", nil
	}
	head, err := a.readStarts(ctx, table)
	if errors.Is(err, broker.ErrNotFound) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	held, _, err := readIdentity(ctx, table, a.cfg.Join.Name)
	if err == nil {
		err = i.readFile()
	}
	if err == nil && i.folder.Next != "" && held.Key == i.folder.Next { // a kill before the answer
		err = i.adoptKey(held.Key, held.Epoch, i.folder.Head)
	}
	if err == nil {
		err = i.checkHead(head)
	}
	if err != nil {
		return "", err
	}
	c := i.newClaim(a.cfg.Lease)
	if held.Place != c.Place || c.Place == "" {
		if err := i.prepareNextKey(); err != nil {
			return "", err
		}
	}
	c.Next = i.folder.Next
	return a.sendClaim(ctx, conn, c, head.Starts[len(head.Starts)-1])
}

// readStarts returns the starts of the head, at least one. The error wraps broker.ErrNotFound if the head is older than
// this question.
func (a *Agent) readStarts(ctx context.Context, table *broker.Table) (s cluster.HeadStarts, err error) {
	e, err := table.Get(ctx, cluster.IdentitiesKey)
	if err == nil {
		err = json.Unmarshal(e.Value, &s)
	}
	if err == nil && len(s.Starts) == 0 {
		err = errors.New("the head has no start")
	}
	return s, err
}

// checkHead returns an error if the folder has seen a start of the head that this head does not know.
func (i *identity) checkHead(s cluster.HeadStarts) error {
	if i.folder.Head == "" || slices.Contains(s.Starts, i.folder.Head) {
		return nil
	}
	return fmt.Errorf("this head is an older copy of the one where this node was: stop it, and start the other one. If its folder was restored from a backup: remove \"head\" from %s, then start dc-node again", i.path)
}

// newClaim is the claim of a new session, without its next key.
func (i *identity) newClaim(lease time.Duration) cluster.IdentityClaim {
	folder := filepath.Dir(i.path)
	host, _ := os.Hostname() // for people
	if path, err := filepath.Abs(folder); err == nil {
		folder = path
	}
	return cluster.IdentityClaim{NodeIdentity: cluster.NodeIdentity{
		Folder: i.folder.Folder, Key: i.folder.Key, Epoch: i.folder.Epoch, Place: placeOf(folder), Process: i.process, Session: rand.Text(),
		Lease: lease, Host: host, Path: folder, PID: os.Getpid(),
	}, Previous: i.session}
}

// sendClaim sends a claim until the head accepts or refuses it.
func (a *Agent) sendClaim(ctx context.Context, conn *broker.Conn, c cluster.IdentityClaim, head string) (session string, err error) {
	i := &a.identity
	data, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	for said := ""; ; {
		answer, err := askOnce(ctx, conn, a.cfg.Join.Name, data)
		switch {
		case err != nil:
			return "", fmt.Errorf("ask the head which process is node %s: %w", a.cfg.Join.Name, err)
		case answer.Refused != "":
			return "", &RefusedError{answer.Refused}
		case answer.Wait == "":
			i.session, i.since = c.Session, answer.Revision
			return c.Session, i.adoptKey(answer.Key, answer.Epoch, head)
		case answer.Wait != said:
			said = answer.Wait
			a.Log().Info("waits until the head knows that the former process of this node has ended", "reason", said)
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(claimPause):
		}
	}
}

func askOnce(ctx context.Context, conn *broker.Conn, name string, claim []byte) (answer cluster.IdentityAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, claimLimit)
	defer cancel()
	replies, err := conn.Request(ctx, broker.HeadSubject(name, "identity"), claim, 1)
	if err == nil {
		err = json.Unmarshal(replies[0].Data, &answer)
	}
	return answer, err
}

// readIdentity returns the process that is the node; none if it was never here.
func readIdentity(ctx context.Context, table *broker.Table, name string) (held cluster.NodeIdentity, revision uint64, err error) {
	e, err := table.Get(ctx, cluster.IdentityKey(name))
	if errors.Is(err, broker.ErrNotFound) {
		return held, 0, nil
	}
	if err == nil {
		err = json.Unmarshal(e.Value, &held)
	}
	if err != nil {
		return held, 0, fmt.Errorf("read which process is node %s: %w", name, err)
	}
	return held, e.Revision, nil
}

// confirmIdentity returns an error that wraps jetstream.ErrReplaced unless the session is still the node. last is the
// last confirmation: after the end of the lease another process may be the node, so a new session asks first.
func (a *Agent) confirmIdentity(ctx context.Context, table *broker.Table, session string, last time.Time) error {
	if session == "" {
		return a.endUnaskedSession(ctx, table)
	}
	if !last.IsZero() && time.Since(last) > a.cfg.Lease {
		return fmt.Errorf("the lease has ended: %w", jetstream.ErrReplaced)
	}
	held, revision, err := readIdentity(ctx, table, a.cfg.Join.Name)
	// One of several servers may be behind for a moment.
	for try := 0; err == nil && held.Session != session && revision <= a.identity.since && try < behindTries; try++ {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(claimPause):
		}
		held, revision, err = readIdentity(ctx, table, a.cfg.Join.Name)
	}
	if err == nil && held.Session != session {
		err = fmt.Errorf("the process %d in %s on %s is node %s now: %w", held.PID, held.Path, held.Host, a.cfg.Join.Name, jetstream.ErrReplaced)
	}
	return err
}

// endUnaskedSession ends a session that began with an older head, when the head is one that must be asked.
func (a *Agent) endUnaskedSession(ctx context.Context, table *broker.Table) error {
	if a.identity.path == "" {
		return nil
	}
	_, err := table.Get(ctx, cluster.IdentitiesKey)
	switch {
	case errors.Is(err, broker.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("the head decides now which process is a node: %w", jetstream.ErrReplaced)
}

package node

import (
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
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/files"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
)

// journey is what one node gives to another in one step.
type journey struct {
	Epoch int64  `json:"epoch"`
	Group int    `json:"group"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// parcel is one file of a journey. A journey has one of each kind, which may be empty.
type parcel struct {
	journey
	Kind string `json:"kind"`
}

// Kinds of parcels.
const (
	packParcel   = "pack"   // of HOSTS_PACK
	pausesParcel = "pauses" // hosts that may not be asked yet, and cookies, as crawler-task --host-pauses answers
)

// fileName is the name of its file on the sender.
func (p parcel) fileName() string {
	return fmt.Sprintf("%d-%d-%s-%s.%s", p.Epoch, p.Group, p.From, p.To, p.Kind)
}

// moveMessage is the head line of a message to "moves.NAME". The bytes of a part follow the line.
type moveMessage struct {
	parcel
	Stored bool `json:"stored,omitempty"` // To confirms the journey to From; there are no parts

	Sending int64  `json:"sending,omitempty"` // number of this sending of the parcel
	Part    int    `json:"part,omitempty"`
	Parts   int    `json:"parts,omitempty"` // 0: the parcel is empty
	Digest  string `json:"digest,omitempty"`
}

const (
	partSize    = 480 << 10 // bytes; with the head line below broker.MaxPayload
	publishWait = 10 * time.Second
)

// giveHosts sends the hosts of this node that leave, and deletes them when all receivers have them.
func (v mover) giveHosts(ctx context.Context, conn *broker.Conn, m cluster.HostsMove) error {
	var packed cluster.HostsPacked
	if err := v.cfg.openStore().runOperation(ctx, packLimit, wire.HostsPack, cluster.HostsPackRequest{Move: m}, &packed); err != nil {
		return err
	}
	if !packed.Done { // otherwise all receivers had confirmed
		if err := v.sendHosts(ctx, conn, m, packed); err != nil {
			return err
		}
	}
	var gone cluster.HostsMoved
	return v.cfg.openStore().runOperation(ctx, packLimit, wire.HostsDrop, cluster.HostsPackRequest{Move: m}, &gone)
}

// sendHosts sends all parcels until each receiver has confirmed or is lost.
func (v mover) sendHosts(ctx context.Context, conn *broker.Conn, m cluster.HostsMove, packed cluster.HostsPacked) error {
	parcels := map[parcel]bool{} // whether it has a file
	to := func(name, kind string) parcel { return parcel{journey{m.Epoch, m.Moved, m.Self, name}, kind} }
	for _, p := range packed.Packs {
		parcels[to(p.To, packParcel)] = true
		v.cfg.log.Info("hosts leave", "to", p.To, "epoch", m.Epoch, "group", m.Moved, "rows", p.Rows, "bytes", p.Bytes)
		if p.Damaged > 0 {
			v.cfg.log.Error("pages leave without their damaged contents; the new node fetches or processes them again", "to", p.To, "pages", p.Damaged)
			v.moves.applyChange(func() { v.moves.damaged += p.Damaged })
		}
	}
	waiting, err := v.leavingPauses(ctx, m)
	if err != nil {
		return err
	}
	for name, state := range waiting {
		p := to(name, pausesParcel)
		text, _ := json.Marshal(state)
		if err := files.Write(filepath.Join(v.cfg.Moves, p.fileName()), text, 0o600); err != nil {
			return err
		}
		defer os.Remove(filepath.Join(v.cfg.Moves, p.fileName()))
		parcels[p] = true
	}
	open := func() (names []string) {
		for _, name := range m.Members {
			if name != m.Self && !v.moves.stored[to(name, "").journey] && !slices.Contains(v.moves.lost, name) {
				names = append(names, name)
			}
		}
		return names
	}
	for {
		v.moves.mu.Lock()
		names := open()
		v.moves.mu.Unlock()
		for _, name := range names {
			for _, kind := range []string{pausesParcel, packParcel} {
				if err := v.sendParcel(ctx, conn, to(name, kind), parcels[to(name, kind)]); err != nil {
					return err
				}
			}
		}
		limited, cancel := context.WithTimeout(ctx, 2*v.cfg.Lease)
		err := v.moves.awaitChange(limited, func() bool { return len(open()) == 0 })
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		v.cfg.log.Warn("hosts are not confirmed; sending them again", "epoch", m.Epoch, "group", m.Moved)
	}
}

// hostState is what --host-pauses reads and answers.
type hostState struct {
	Hosts   []json.RawMessage `json:"hosts"`
	Cookies []json.RawMessage `json:"cookies"`
}

// leavingPauses returns, by their new owner, the hosts that leave and may not be asked yet, and the cookies of
// hosts that leave. A cookie for all hosts of a domain goes to each member: it is unknown which of them leave.
func (v mover) leavingPauses(ctx context.Context, m cluster.HostsMove) (map[string]*hostState, error) {
	answer, err := v.hostPauses(ctx, []byte(`{"hosts":[]}`))
	if err != nil {
		return nil, err
	}
	var here hostState
	if err := json.Unmarshal(answer, &here); err != nil {
		return nil, err
	}
	byOwner := map[string]*hostState{}
	state := func(name string) *hostState {
		if byOwner[name] == nil {
			byOwner[name] = &hostState{Hosts: []json.RawMessage{}, Cookies: []json.RawMessage{}}
		}
		return byOwner[name]
	}
	for _, raw := range here.Hosts {
		var one struct{ Host string }
		if err := json.Unmarshal(raw, &one); err != nil {
			return nil, err
		}
		if to := m.Target("http://" + one.Host + "/"); to != "" {
			state(to).Hosts = append(state(to).Hosts, raw)
		}
	}
	for _, raw := range here.Cookies {
		var one struct {
			Cookie struct {
				Domain   string
				HostOnly bool
			}
		}
		if err := json.Unmarshal(raw, &one); err != nil {
			return nil, err
		}
		domain := one.Cookie.Domain
		if strings.Contains(domain, ":") {
			domain = "[" + domain + "]"
		}
		to := []string{m.Target("http://" + domain + "/")}
		if !one.Cookie.HostOnly {
			to = m.Members
		}
		for _, name := range to {
			if name != "" && name != m.Self {
				state(name).Cookies = append(state(name).Cookies, raw)
			}
		}
	}
	return byOwner, nil
}

// sendParcel publishes a parcel in parts, or an empty one.
func (v mover) sendParcel(ctx context.Context, conn *broker.Conn, p parcel, file bool) error {
	message := moveMessage{parcel: p, Sending: time.Now().UnixNano()}
	if !file {
		return publishMove(ctx, conn, p.To, message, nil)
	}
	f, err := os.Open(filepath.Join(v.cfg.Moves, p.fileName()))
	if err != nil {
		return err
	}
	defer f.Close()
	var size int64
	if message.Digest, size, err = digestOf(f); err != nil {
		return err
	}
	message.Parts = int((size + partSize - 1) / partSize)
	part := make([]byte, partSize)
	for message.Part = range message.Parts {
		n, err := f.ReadAt(part, int64(message.Part)*partSize)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err := publishMove(ctx, conn, p.To, message, part[:n]); err != nil {
			return err
		}
	}
	return nil
}

// digestOf returns the SHA-256 of a file from its beginning, and its size.
func digestOf(f *os.File) (string, int64, error) {
	digest := sha256.New()
	size, err := io.Copy(digest, f)
	return hex.EncodeToString(digest.Sum(nil)), size, err
}

// publishMove appends a message for a node to the stream. It repeats while the stream is full or away.
func publishMove(ctx context.Context, conn *broker.Conn, to string, message moveMessage, part []byte) error {
	head, err := json.Marshal(message)
	if err != nil {
		return err
	}
	data := slices.Concat(head, []byte("\n"), part)
	id := fmt.Sprintf("%s-%t-%d-%d", message.fileName(), message.Stored, message.Sending, message.Part)
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

//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

const (
	// daemonMemory limits the resident memory of a daemon with any peers.
	daemonMemory = 300 << 20
	// peerWork limits the processor time that the daemon takes while a client waits for an operation,
	// whatever other peers do.
	peerWork = time.Second
)

// peerLimit limits the wait itself. Other tests may use the machine at the same time; make soak, which
// runs alone, allows a second.
var peerLimit = 5 * time.Second

// zmqPeer is a client of the daemon's port whose bytes the test writes itself (ZeroMQ RFC 23).
type zmqPeer struct {
	net.Conn
	r *bufio.Reader
}

func newPeer(t *testing.T, port int) *zmqPeer {
	t.Helper()
	var c net.Conn
	testwait.Until(t, "the daemon listens", func() (ok bool) {
		var err error
		c, err = net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		return err == nil
	})
	t.Cleanup(func() { c.Close() })
	p := &zmqPeer{c, bufio.NewReader(c)}
	greeting := "\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x00NULL" + strings.Repeat("\x00", 48)
	if _, err := io.WriteString(c, greeting+"\x04\x1c\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, p.r, 64); err != nil {
		t.Fatal(err)
	}
	if _, err := p.frame(); err != nil {
		t.Fatal(err)
	}
	return p
}

// frame reads one frame.
func (p *zmqPeer) frame() (string, error) {
	flags, err := p.r.ReadByte()
	if err != nil {
		return "", err
	}
	var raw [8]byte
	length := raw[7:]
	if flags&2 != 0 {
		length = raw[:]
	}
	if _, err := io.ReadFull(p.r, length); err != nil {
		return "", err
	}
	body := make([]byte, binary.BigEndian.Uint64(raw[:]))
	_, err = io.ReadFull(p.r, body)
	return string(body), err
}

// filler is a part of a text.
var filler = strings.Repeat("x", 1_000_000)

// headOf is the head of a frame and of a request whose object is a text of size bytes.
func headOf(op wire.Op, uid string, size int) string {
	head := fmt.Sprintf(`{"class":"client","uid":%q,"eventType":%d,"cookie":{},"eventObj":"`, uid, int(op))
	frame := binary.BigEndian.AppendUint64([]byte{2}, uint64(len(head)+size+2))
	return string(frame) + head
}

// send sends such a request.
func (p *zmqPeer) send(op wire.Op, uid string, size int) error {
	if size < 1000 {
		_, err := io.WriteString(p, headOf(op, uid, size)+strings.Repeat("x", size)+`"}`)
		return err
	}
	_, err := io.WriteString(p, headOf(op, uid, size))
	for n := 0; n < size && err == nil; n += len(filler) {
		_, err = io.WriteString(p, filler[:min(len(filler), size-n)])
	}
	if err == nil {
		_, err = io.WriteString(p, `"}`)
	}
	return err
}

// innocent asks for the status of a site until stop is closed, and keeps the longest wait.
type innocent struct {
	asks    atomic.Int64
	longest atomic.Int64 // nanoseconds
	work    atomic.Int64 // most processor time of the daemon during a wait, in nanoseconds
	stop    chan struct{}
	ended   sync.WaitGroup
}

func newInnocent(t *testing.T, r *rig.Rig) *innocent {
	i := &innocent{stop: make(chan struct{})}
	p := newPeer(t, r.ClientPort())
	i.ended.Go(func() {
		for {
			select {
			case <-i.stop:
				return
			case <-time.After(50 * time.Millisecond): // as a person or a program asks
			}
			begin, worked := time.Now(), workOf(t, r.PID())
			uid := fmt.Sprint("innocent", i.asks.Load())
			_ = p.SetDeadline(begin.Add(time.Minute))
			err := p.send(wire.SiteStatus, uid, 0)
			answer := ""
			if err == nil {
				answer, err = p.frame()
			}
			if err != nil || !strings.Contains(answer, uid) {
				t.Errorf("the innocent client got %.200q, %v", answer, err)
				return
			}
			i.asks.Add(1)
			i.longest.Store(max(i.longest.Load(), int64(time.Since(begin))))
			i.work.Store(max(i.work.Load(), int64(workOf(t, r.PID())-worked)))
		}
	})
	return i
}

// end stops the client and checks that it never waited long.
func (i *innocent) end(t *testing.T, during string) {
	t.Helper()
	close(i.stop)
	i.ended.Wait()
	longest, work := time.Duration(i.longest.Load()), time.Duration(i.work.Load())
	t.Logf("%s: %d asks of an innocent client, the longest took %v, and at most %v of the daemon's processor time", during, i.asks.Load(), longest.Round(time.Millisecond), work)
	if longest > peerLimit || work > peerWork {
		t.Errorf("%s: an innocent client waited %v, and %v of the daemon's processor time", during, longest, work)
	}
}

// workOf returns the processor time of a process, which is known to 10 ms.
func workOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Error(err)
		return 0
	}
	var ticks time.Duration
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	for _, field := range fields[11:13] { // of the process itself, in user and in system mode
		n, _ := strconv.Atoi(field) // proc(5): numbers
		ticks += time.Duration(n)
	}
	return ticks * 10 * time.Millisecond
}

// memoryOf reads a field of /proc/PID/status, in bytes.
func memoryOf(t *testing.T, pid int, field string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatalf("no %s in /proc/%d/status", field, pid)
	return 0
}

// 30 requests of 60 MB at the same time, 40 unfinished ones, 30 with contents of 24 MB, 1,000
// queued requests of one peer and 40 unfinished ones of 24 MB: the daemon stays small, each finished request gets one
// answer, another client gets its answers in time, and the memory is given back.
func TestPeersCannotExhaustTheDaemon(t *testing.T) {
	r := start(t, t.TempDir())
	attacks := []struct {
		name   string
		attack func(t *testing.T)
	}{
		{"30 requests of 60 MB", func(t *testing.T) {
			together(t, 30, func(i int) error {
				p := newPeer(t, r.ClientPort())
				uid := fmt.Sprint("big", i)
				op := []wire.Op{wire.SiteStatus, wire.URLPut, wire.URLContent}[i%3]
				answers := make(chan error, 1)
				go func() {
					answer, err := p.frame()
					if err == nil && (!strings.Contains(answer, uid) || !strings.Contains(answer, "the limit is")) {
						err = fmt.Errorf("answer %.300s", answer)
					}
					answers <- err
				}()
				if err := p.send(op, uid, 60_000_000); err != nil {
					return err
				}
				return <-answers
			})
		}},
		{"40 unfinished requests of 60 MB", func(t *testing.T) {
			together(t, 40, func(i int) error {
				p := newPeer(t, r.ClientPort())
				// The daemon may end the connection while the machine is busy.
				_, _ = io.WriteString(p, headOf(wire.URLPut, "unfinished", 60_000_000))
				for n := 0; n < 59; n++ {
					_, _ = io.WriteString(p, filler)
				}
				return nil
			})
		}},
		{"30 requests of 24 MB with contents", func(t *testing.T) {
			together(t, 30, func(i int) error {
				p := newPeer(t, r.ClientPort())
				uid := fmt.Sprint("contents", i)
				if err := p.send(wire.URLPut, uid, 24_000_000); err != nil {
					return err
				}
				answer, err := p.frame()
				if err == nil && !strings.Contains(answer, uid) {
					err = fmt.Errorf("answer %.300s", answer)
				}
				return err
			})
		}},
		{"1,000 queued requests of one peer", func(t *testing.T) {
			p := newPeer(t, r.ClientPort())
			go func() {
				for i := range 1000 {
					if err := p.send(wire.SiteStatus, fmt.Sprint("many", i), 100); err != nil {
						return
					}
				}
			}()
			for range 1000 {
				if _, err := p.frame(); err != nil {
					t.Error(err)
					return
				}
			}
		}},
		{"40 unfinished requests of the largest size", func(t *testing.T) {
			together(t, 40, func(i int) error {
				p := newPeer(t, r.ClientPort())
				// Most find no room and are refused; the others hold it until they end.
				_ = p.SetReadDeadline(time.Now().Add(3 * time.Second))
				_, err := io.WriteString(p, headOf(wire.URLPut, "unfinished", 24_000_000)+filler)
				if err == nil {
					_, _ = p.frame()
				}
				return err
			})
		}},
	}
	for _, a := range attacks {
		other := newInnocent(t, r)
		a.attack(t)
		other.end(t, a.name)
		t.Logf("%s: the daemon has %d MiB, at most %d MiB so far", a.name, memoryOf(t, r.PID(), "VmRSS")>>20, memoryOf(t, r.PID(), "VmHWM")>>20)
	}
	if peak := memoryOf(t, r.PID(), "VmHWM"); peak > daemonMemory {
		t.Errorf("the daemon used %d MiB", peak>>20)
	}
	testwait.Until(t, "the daemon gives the memory back", func() bool { return memoryOf(t, r.PID(), "VmRSS") < daemonMemory/3 })
}

// The operators' port asks for a key, which the first start creates and dc-admin finds. Without it
// a request to stop the daemon has no effect.
func TestOperatorsNeedAKey(t *testing.T) {
	data := t.TempDir()
	r := start(t, data)
	for name, mode := range map[string]os.FileMode{"keys": 0o700, "keys/daemon.key": 0o600, "keys/operators": 0o700, "keys/operators/admin.key": 0o600} {
		if info, err := os.Stat(filepath.Join(data, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	stop := func(keys string) (string, error) {
		c := exec.CommandContext(t.Context(), filepath.Join(bin, "dc-admin"), "-c", filepath.Join(ini, "dc-admin.ini"), "--cmd", "STOP", "--classes", "*")
		c.Env = append(r.Env(), "DC_dtma_keys="+keys, "DC_dtma_timeout=20000")
		out, err := c.CombinedOutput()
		return string(out), err
	}
	other := start(t, t.TempDir()) // another daemon with keys of its own
	if out, err := stop(filepath.Join(data, "none")); err == nil || !strings.Contains(out, "it wants keys") && !strings.Contains(out, "it may want keys") || !strings.Contains(out, "set keys of dc-admin.ini") {
		t.Errorf("without a key: %v, %s", err, out)
	}
	if out, err := stop(keysOf(other)); err == nil || !strings.Contains(out, "another public key") {
		t.Errorf("with another key: %v, %s", err, out)
	}
	if _, err := r.Stat(t.Context(), "SitesManager"); err != nil {
		t.Errorf("after the refusals: %v", err)
	}
	if out, err := stop(keysOf(r)); err != nil {
		t.Fatalf("with the key: %v, %s", err, out)
	}
	select {
	case <-r.Ended():
	case <-time.After(crawlLimit):
		t.Error("the daemon runs after STOP with a key")
	}
}

// With admin_auth = none the port serves tools without keys.
func TestOperatorsWithoutKeys(t *testing.T) {
	data := t.TempDir()
	r := start(t, data, "DC_AdminInterfaceServer_admin_auth=none")
	if _, err := os.Stat(filepath.Join(data, "keys")); err == nil {
		t.Error("the daemon created keys")
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// keysOf returns the folder of the keys of a daemon's operators.
func keysOf(r *rig.Rig) string {
	for _, v := range r.Env() {
		if folder, ok := strings.CutPrefix(v, "DC_dtma_keys="); ok {
			return folder
		}
	}
	return ""
}

// together runs n calls at the same time.
func together(t *testing.T, n int, call func(i int) error) {
	t.Helper()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := call(i); err != nil {
				t.Errorf("peer %d: %v", i, err)
			}
		})
	}
	all.Wait()
}

// A daemon with 200 descriptors and 150 idle peers crawls a site and serves its operator.
func TestIdlePeersLeaveRoomForTheCrawl(t *testing.T) {
	folder, real := t.TempDir(), map[string]string{}
	for _, name := range []string{"dc-daemon", "dc-client", "dc-admin"} {
		path, err := filepath.Abs(filepath.Join(bin, name))
		if err != nil {
			t.Fatal(err)
		}
		real[name] = path
		if err := os.Symlink(path, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	script := fmt.Sprintf("#!/bin/sh\nulimit -n 200\nexec %s \"$@\"\n", real["dc-daemon"])
	if err := os.Remove(filepath.Join(folder, "dc-daemon")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "dc-daemon"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := rig.Start(t.Context(), rig.Options{Bin: folder, Ini: ini, Data: t.TempDir(), AllowLoopback: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	for range 150 {
		newPeer(t, r.ClientPort())
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<html><a href="/next">A page</a>`)
	}))
	t.Cleanup(server.Close)
	id := newSite(t, r, rig.Site{Root: server.URL + "/"})
	finish(t, r, id)
	if _, err := r.Stat(t.Context(), "BatchTasksManager"); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", r.PID()))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of 200 descriptors are open", len(entries))
}

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/testkit/testwait"
)

// A daemon that ends during a crawl, in any way, leaves no process, port, lock, socket or
// temporary file. The next daemon completes the crawl.
func TestDaemonLeavesNothing(t *testing.T) {
	t.Parallel()
	signalled := func(signals ...syscall.Signal) func(*testing.T, *rig.Rig) {
		return func(t *testing.T, r *rig.Rig) {
			for _, s := range signals {
				if err := syscall.Kill(r.PID(), s); err != nil && !errors.Is(err, syscall.ESRCH) {
					t.Error(err)
				}
			}
		}
	}
	const n = 100
	tests := []struct {
		name string
		end  func(*testing.T, *rig.Rig)
		// gentle: the daemon can clean up. Otherwise files may be left that the
		// next start repairs.
		gentle bool
	}{
		{"STOP", func(t *testing.T, r *rig.Rig) {
			if err := r.Stop(limited(t)); err != nil {
				t.Error(err)
			}
		}, true},
		{"SIGTERM", signalled(syscall.SIGTERM), true},
		{"SIGINT", signalled(syscall.SIGINT), true},
		{"SIGTERM and another", signalled(syscall.SIGTERM, syscall.SIGTERM), false},
		{"SIGINT and SIGTERM while it stops", func(t *testing.T, r *rig.Rig) {
			signalled(syscall.SIGINT)(t, r)
			select { // the second signal must do no harm before and after the end
			case <-r.Ended():
			case <-time.After(20 * time.Millisecond):
			}
			signalled(syscall.SIGTERM)(t, r)
		}, false},
		{"SIGKILL", signalled(syscall.SIGKILL), false},
		{"SIGKILL to the group", func(t *testing.T, r *rig.Rig) {
			if err := syscall.Kill(-r.PID(), syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}, false},
		{"SIGTERM to the group", func(t *testing.T, r *rig.Rig) {
			if err := syscall.Kill(-r.PID(), syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			content := tree(n)
			w := newWitness(t, content)
			data, temporary := t.TempDir(), t.TempDir()
			r := start(t, data, "TMPDIR="+temporary)
			content.slowFrom(20, 500*time.Millisecond) // the crawl does not end before the daemon
			id := newSite(t, r, rig.Site{Root: w.URL + "/"})
			testwait.Until(t, "the crawl runs", func() bool {
				return len(tasksOf(t, data, r.PID())) > 0 && w.count() > 20
			})
			if unlocked(filepath.Join(data, "dc-daemon.lock")) == nil || unlocked(filepath.Join(data, "env", ".lock")) == nil {
				t.Fatal("the locks of a running daemon are not found")
			}
			tt.end(t, r)
			select {
			case <-r.Ended():
			case <-time.After(time.Minute):
				t.Fatal("the daemon does not end")
			}
			if w.count() > n {
				t.Error("the crawl had ended before the daemon")
			}
			nothingIsLeft(t, r, data, temporary, tt.gentle)

			content.slowFrom(0, 0)
			r = start(t, data, "TMPDIR="+temporary)
			finish(t, r, id)
			checkTree(t, r, data, id, w.URL, n)
			if err := r.Stop(limited(t)); err != nil {
				t.Fatal(err)
			}
			nothingIsLeft(t, r, data, temporary, tt.gentle) // a temporary file lives until the next write of its file
		})
	}
}

// A daemon that is stopped while it starts or recovers ends and leaves nothing.
func TestStoppedWhileItStarts(t *testing.T) {
	t.Parallel()
	content := slowly(tree(100), 300*time.Millisecond) // the crawl does not end before the last kill
	w := newWitness(t, content)
	data, temporary := t.TempDir(), t.TempDir()
	r := start(t, data, "TMPDIR="+temporary)
	id := newSite(t, r, rig.Site{Root: w.URL + "/"})
	random := rand.New(rand.NewPCG(seed(t)))
	for range 6 {
		testwait.Until(t, "a batch runs", func() bool { return len(tasksOf(t, data, r.PID())) > 0 })
		if err := syscall.Kill(r.PID(), syscall.SIGKILL); err != nil { // so that the next start has to recover
			t.Fatal(err)
		}
		<-r.Ended()
		testwait.Until(t, "no task process is left", func() bool { return len(tasksOf(t, data, 0)) == 0 })
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(120))*time.Millisecond)
		half, err := rig.Start(ctx, rig.Options{Bin: bin, Ini: ini, Data: data, AllowLoopback: true, Env: []string{"TMPDIR=" + temporary}})
		cancel()
		if err == nil { // the start was faster
			half.Close()
			<-half.Ended()
		}
		testwait.Until(t, "no daemon is left", func() bool { return len(tasksOf(t, data, 0)) == 0 })
		checkFolders(t, data, temporary, false)
		if text := tail(filepath.Join(data, "daemon.out")); strings.Contains(text, "goroutine ") || strings.Contains(text, "did not stop within") {
			t.Errorf("output of the daemon:\n%s", text)
		}
		r = start(t, data, "TMPDIR="+temporary)
	}
	content.slowFrom(0, 0)
	finish(t, r, id)
	checkTree(t, r, data, id, w.URL, 100)
}

// tasksOf lists the processes of a data folder except the daemon. All descendants inherit
// the variable that names the folder, also orphans.
func tasksOf(t *testing.T, data string, daemon int) []int {
	t.Helper()
	full, err := filepath.Abs(data)
	if err != nil {
		t.Fatal(err)
	}
	mark := []byte("DC_Application_data_dir=" + full + "\x00")
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(environs) == 0 {
		t.Fatal("cannot read /proc")
	}
	var pids []int
	for _, name := range environs {
		text, err := os.ReadFile(name)
		pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
		if err == nil && pid != daemon && bytes.Contains(append(text, 0), mark) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// lasting matches the files of a data folder that may exist when no program runs
// (docs/operations.md, "The data folder").
var lasting = regexp.MustCompile(`^(` + strings.Join([]string{
	`daemon\.out`, // of the rig
	`dc\.db(-wal|-shm)?`,
	`dc_rdata/.*\.(bin|txt|tidy|dyn|chain)`,
	`dc_rdata/\.segments/([0-9]{8}\.warc|compact\.lock)`,
	`dc_dbdata/[0-9a-f]{32}\.db(-wal|-shm)?`,
	`dc_dbdata/(\.move)?\.lock`,
	`dc_hosts/[0-9a-f]{32}\.gate`,
	`env/\.lock`, `env/[0-9A-Za-z_-]+/(task\.json|state\.json|stdout|stderr)`,
	`stat/\w+_stat_vars\.json`, `keys/(.*/)?\w+\.(key|pub)`,
	`log/[a-z-]+\.log`,
	`dc-daemon\.lock`, `trash\.lock`,
	`[a-z_]+(/[^/]+)?\.json(\.lock)?`, `[a-z_]+(/[^/]+)?\.lock`, // state files of the crawler and their locks
}, "|") + `)$`)

// passing matches the files that a kill may leave, until the next start or the next write
// of the same file (docs/architecture.md, "What a kill leaves").
var passing = regexp.MustCompile(`^(env/(.*/)?\.(new|old)-.*|dc_rdata/\.staging/.*|.*\.tmp|(.*/)?\.[^/]+\d{9,})$`)

// nothingIsLeft checks for leftovers of a daemon that has ended.
func nothingIsLeft(t *testing.T, r *rig.Rig, data, temporary string, gentle bool) {
	t.Helper()
	testwait.Until(t, "no task process is left", func() bool { return len(tasksOf(t, data, 0)) == 0 })
	for _, name := range []string{"DC_dcc_clientPort", "DC_dtma_clientPort"} {
		port := ""
		for _, v := range r.Env() {
			if value, found := strings.CutPrefix(v, name+"="); found {
				port = value
			}
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Errorf("port of %s: %v", name, err)
			continue
		}
		l.Close()
	}
	checkFolders(t, data, temporary, gentle)
}

// checkFolders checks that only expected files exist and that none is locked.
func checkFolders(t *testing.T, data, temporary string, gentle bool) {
	t.Helper()
	entries, err := os.ReadDir(temporary)
	if err != nil || len(entries) > 0 {
		t.Errorf("files in the temporary folder: %v, %v", entries, err)
	}
	err = filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(data, path)
		if !d.Type().IsRegular() {
			t.Errorf("unexpected: %s, %v", name, d.Type())
			return nil
		}
		if !lasting.MatchString(name) && (gentle || !passing.MatchString(name)) {
			t.Errorf("unexpected file: %s", name)
		}
		// A dying process loses its environment, by which tasksOf finds it, before it
		// closes its files.
		testwait.Until(t, "no process has a lock on "+name, func() bool { return unlocked(path) == nil })
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// unlocked returns an error if a process holds a lock of any kind on the file.
func unlocked(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("flock: %w", err)
	}
	l := unix.Flock_t{Type: unix.F_WRLCK, Whence: 0, Start: 0, Len: 0}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &l); err != nil {
		return err
	}
	if l.Type != unix.F_UNLCK {
		return fmt.Errorf("process %d holds a lock on bytes %d+%d", l.Pid, l.Start, l.Len)
	}
	return nil
}

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

	"hce/dc/examples/rig"
)

// However a daemon ends in the middle of a crawl, it leaves no process, port,
// lock, socket or temporary file behind, and the next start goes on at once.
func TestADaemonLeavesNothing(t *testing.T) {
	signalled := func(signals ...syscall.Signal) func(*testing.T, *rig.Rig) {
		return func(t *testing.T, r *rig.Rig) {
			for _, s := range signals {
				if err := syscall.Kill(r.PID(), s); err != nil && !errors.Is(err, syscall.ESRCH) {
					t.Error(err)
				}
			}
		}
	}
	const n = 300
	tests := []struct {
		name string
		end  func(*testing.T, *rig.Rig)
		// gentle: the daemon has the time to tidy up, so nothing half done may
		// be left; else what the next start mends may be there.
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
			select { // ended or not, the second one must do no harm
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
			w := newWitness(t, slowly(tree(n), 5*time.Millisecond))
			data, temporary := t.TempDir(), t.TempDir()
			r := start(t, data, "TMPDIR="+temporary)
			id := newSite(t, r, rig.Site{Root: w.URL + "/"})
			until(t, "the crawl is under way", func() bool {
				return len(tasksOf(t, data, r.PID())) > 0 && w.count() > 20
			})
			if unlocked(filepath.Join(data, "dc-daemon.lock")) == nil || unlocked(filepath.Join(data, "env", ".lock")) == nil {
				t.Fatal("locks are not seen: nothing would be tested")
			}
			tt.end(t, r)
			select {
			case <-r.Ended():
			case <-time.After(time.Minute):
				t.Fatal("the daemon does not end")
			}
			if w.count() > n {
				t.Error("the crawl was over: nothing was tested")
			}
			nothingIsLeft(t, r, data, temporary, tt.gentle)

			r = start(t, data, "TMPDIR="+temporary)
			finish(t, r, id)
			checkTree(t, r, data, id, w.URL, n)
			if err := r.Stop(limited(t)); err != nil {
				t.Fatal(err)
			}
			nothingIsLeft(t, r, data, temporary, tt.gentle) // temporary raw files live for an hour
		})
	}
}

// A daemon that is told to stop while it starts, or takes up what the last one
// left, does so, and leaves nothing either.
func TestStoppedWhileItStarts(t *testing.T) {
	w := newWitness(t, slowly(tree(100), 5*time.Millisecond))
	data, temporary := t.TempDir(), t.TempDir()
	r := start(t, data, "TMPDIR="+temporary)
	id := newSite(t, r, rig.Site{Root: w.URL + "/"})
	random := rand.New(rand.NewPCG(seed(t)))
	for range 12 {
		until(t, "a batch runs", func() bool { return len(tasksOf(t, data, r.PID())) > 0 })
		if err := syscall.Kill(r.PID(), syscall.SIGKILL); err != nil { // there is something to take up
			t.Fatal(err)
		}
		<-r.Ended()
		until(t, "no task lives", func() bool { return len(tasksOf(t, data, 0)) == 0 })
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(120))*time.Millisecond)
		half, err := rig.Start(ctx, rig.Options{Bin: bin, Ini: ini, Data: data, AllowLoopback: true, Env: []string{"TMPDIR=" + temporary}})
		cancel()
		if err == nil { // it was quicker
			half.Close()
			<-half.Ended()
		}
		until(t, "no daemon lives", func() bool { return len(tasksOf(t, data, 0)) == 0 })
		foldersAreLeft(t, data, temporary, false)
		if text := tail(filepath.Join(data, "daemon.out")); strings.Contains(text, "goroutine ") || strings.Contains(text, "did not stop within") {
			t.Errorf("the daemon said:\n%s", text)
		}
		r = start(t, data, "TMPDIR="+temporary)
	}
	finish(t, r, id)
	checkTree(t, r, data, id, w.URL, 100)
}

// until waits for something that must come to pass.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func (w *witness) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.visits)
}

// tasksOf lists the processes that work on a data folder, but for the daemon:
// all its descendants inherit the variable that names the folder, whoever their
// parent is.
func tasksOf(t *testing.T, data string, daemon int) []int {
	t.Helper()
	full, err := filepath.Abs(data)
	if err != nil {
		t.Fatal(err)
	}
	mark := []byte("DC_Application_data_dir=" + full + "\x00")
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(environs) == 0 {
		t.Fatal("there is no /proc here")
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

// lasting are the files of a data folder that may be there when nothing runs
// (docs/operations.md, "The data folder").
var lasting = regexp.MustCompile(`^(` + strings.Join([]string{
	`daemon\.out`, // of the rig
	`dc\.db(-wal|-shm)?`,
	`dc_rdata/.*\.(bin|txt|tidy|dyn|chain)`,
	`dc_dbdata/[0-9a-f]{32}\.db(-wal|-shm)?`,
	`dc_dbdata/(\.move)?\.lock`,
	`dc_hosts/[0-9a-f]{32}\.gate`,
	`env/\.lock`, `env/[0-9A-Za-z_-]+/(task\.json|state\.json|stdout|stderr)`,
	`stat/\w+_stat_vars\.json`,
	`log/[a-z-]+\.log`,
	`dc-daemon\.lock`, `trash\.lock`,
	`[a-z_]+(/[^/]+)?\.json(\.lock)?`, `[a-z_]+(/[^/]+)?\.lock`, // cookies and their kin, with their locks
}, "|") + `)$`)

// passing are those that a kill may leave, which the next start, or the next
// write of the same file, makes good (docs/architecture.md, "What a kill leaves").
var passing = regexp.MustCompile(`^(env/(.*/)?\.(new|old)-.*|stat/\w+_stat_vars\.json\.new|.*\.tmp|(.*/)?\.[^/]+\d{9,})$`)

// nothingIsLeft looks for all that a daemon that has ended could leave.
func nothingIsLeft(t *testing.T, r *rig.Rig, data, temporary string, gentle bool) {
	t.Helper()
	until(t, "no task lives", func() bool { return len(tasksOf(t, data, 0)) == 0 })
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
	foldersAreLeft(t, data, temporary, gentle)
}

// foldersAreLeft looks at the files: what may be there, and no lock on any.
func foldersAreLeft(t *testing.T, data, temporary string, gentle bool) {
	t.Helper()
	entries, err := os.ReadDir(temporary)
	if err != nil || len(entries) > 0 {
		t.Errorf("left in the folder of temporary files: %v, %v", entries, err)
	}
	err = filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(data, path)
		if !d.Type().IsRegular() {
			t.Errorf("left: %s, %v", name, d.Type())
			return nil
		}
		if !lasting.MatchString(name) && (gentle || !passing.MatchString(name)) {
			t.Errorf("left: %s", name)
		}
		// A process that dies closes its files after it has lost its environment, by
		// which we know it.
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			err := unlocked(path)
			if err == nil {
				return nil
			}
			if time.Now().After(deadline) {
				t.Errorf("%s: %v", name, err)
				return nil
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// unlocked fails when anybody holds a lock of any kind on the file.
func unlocked(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("somebody holds the file: %w", err)
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

package storage

import (
	"context"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/testkit/testwait"
)

// The renewal waits for programs that have the stores open; other programs wait for it.
func TestOpenWhileKeysAreRenewed(t *testing.T) {
	w := newKeysWorld(t, keysPlaces["segments and key-value files"])
	w.fill()
	unlock, err := takeSharedLock(w.KeyDir)
	w.must(err)
	errs, closers := make(chan error), make(chan func(), 4)
	for range 4 {
		go func() {
			_, closeAll, err := Open(t.Context(), w.Config, slog.New(slog.DiscardHandler))
			if err == nil {
				closers <- closeAll // the stores stay open until all four are open
			}
			errs <- err
		}()
	}
	testwait.Until(t, "a renewal", func() bool { return isUpgrading(w.KeyDir) })
	unlock()
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	close(closers)
	for closeAll := range closers {
		closeAll()
	}
	w.check()
}

// renewVariable holds the renewal of a process that kills itself; see TestMain.
const renewVariable = "STORAGE_TEST_RENEW"

type renewal struct {
	Config
	Calls int // of the clock until the kill: each transaction of the rows reads it
}

func renewUntilKilled(text string) error {
	var r renewal
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return err
	}
	r.Now = func() time.Time {
		if r.Calls--; r.Calls == 0 {
			if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
				panic(err)
			}
			select {}
		}
		return time.Now()
	}
	_, closeAll, err := Open(context.Background(), r.Config, slog.New(slog.DiscardHandler))
	if err == nil {
		closeAll()
	}
	return err
}

// killAt opens the stores in a process that dies before a transaction. It reports whether
// the process ended before that.
func (w keysWorld) killAt(calls int) (ended bool) {
	w.Helper()
	raw, err := json.Marshal(renewal{w.Config, calls})
	w.must(err)
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), renewVariable+"="+string(raw))
	out, err := c.CombinedOutput()
	if len(out) > 0 {
		w.Fatalf("killed at %d: %s", calls, out)
	}
	return err == nil
}

// killEvery is the distance of the kills of TestKilledWhileKeysAreRenewed. Each run begins at another transaction.
const killEvery = 3

// A kill before any transaction of the renewal loses and doubles nothing.
func TestKilledWhileKeysAreRenewed(t *testing.T) {
	for name, change := range keysPlaces {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if backend == sqldb.DriverMySQL {
				w := newKeysWorld(t, change)
				w.fill()
				for calls := 1; !w.killAt(calls); calls++ {
				}
				w.check()
				return
			}
			template := newKeysWorld(t, change)
			template.fill()
			calls := 1 + rand.IntN(killEvery)
			for ended := false; !ended; calls += killEvery {
				w := newKeysWorld(t, change)
				w.must(os.CopyFS(filepath.Dir(w.DB.Path), os.DirFS(filepath.Dir(template.DB.Path))))
				ended = w.killAt(calls)
				w.check()
			}
			if calls < 20 {
				t.Errorf("only %d transactions", calls)
			}
		})
	}
}

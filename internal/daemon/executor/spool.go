package executor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// spool is the durable memory of a local pool: one folder for each task, named
// by its id.
//
//	task.json   what was submitted, and when; the folder appears with it, whole
//	state.json  the latest status; none before the first attempt
//	stdout      the answer, stderr the tail, both written before the state
//
// Every file is written aside, synced and renamed, and the folder is synced.
// Names with a leading dot are no tasks: the lock, and folders being made or
// removed. Calls for different ids may run at once. What is broken or foreign is
// one line in the log and keeps no pool from opening.
type spool struct {
	dir  string
	lock *os.File
	log  *slog.Logger
}

const (
	lockName  = ".lock"
	newPrefix = ".new-"
	oldPrefix = ".old-"
)

// openSpool makes the folder, takes its lock and removes what an interrupted
// create or remove has left. The error wraps ErrLocked and names the process
// when another one holds the lock.
func openSpool(dir string, log *slog.Logger) (*spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	s := &spool{dir: dir, lock: lock, log: log}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer lock.Close()
		if err != unix.EWOULDBLOCK {
			return nil, fmt.Errorf("lock spool %s: %w", dir, err)
		}
		pid, _ := io.ReadAll(io.LimitReader(lock, 20))
		return nil, fmt.Errorf("%w: %s is held by process %s", ErrLocked, dir, bytes.TrimSpace(pid))
	}
	if err := s.claim(); err != nil {
		lock.Close()
		return nil, err
	}
	return s, nil
}

func (s *spool) claim() error {
	if err := s.lock.Truncate(0); err != nil {
		return err
	}
	if _, err := s.lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), newPrefix) || strings.HasPrefix(e.Name(), oldPrefix) {
			if err := os.RemoveAll(filepath.Join(s.dir, e.Name())); err != nil {
				s.log.Error("what was half made or removed in the spool stays", "op", "env.OpenLocal", "name", e.Name(), "error", err)
			}
		}
	}
	return nil
}

// close gives the lock back; the file stays, since removing it would let two
// pools lock two different files of one name.
func (s *spool) close() error { return s.lock.Close() }

// record is task.json: the task, its input as JSON and not as base64.
type record struct {
	Task
	Stdin  json.RawMessage
	Queued time.Time
}

// saved is a task as the spool holds it. err says what of it cannot be read: the
// state, or the task, too, which has no stages then.
type saved struct {
	id     string
	task   Task
	status Status
	err    error
}

// create makes t durable. After an error nothing of it is left.
func (s *spool) create(t *Task, queued time.Time) (err error) {
	aside := filepath.Join(s.dir, newPrefix+t.ID)
	if err := os.Mkdir(aside, 0o700); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(aside)
		}
	}()
	text, err := encode(record{Task: *t, Stdin: t.Stdin, Queued: queued})
	if err != nil {
		return err
	}
	if err := writeSynced(filepath.Join(aside, "task.json"), text); err != nil {
		return err
	}
	if err := syncDir(aside); err != nil {
		return err
	}
	final := filepath.Join(s.dir, t.ID)
	if err := os.Rename(aside, final); err != nil {
		return err
	}
	if err := syncDir(s.dir); err != nil {
		os.RemoveAll(final)
		return err
	}
	return nil
}

// saveStatus replaces the state of a task.
func (s *spool) saveStatus(st *Status) error {
	text, err := encode(st)
	if err != nil {
		return err
	}
	return s.replace(st.ID, "state.json", text)
}

// saveResult stores the output of a task and then its state.
func (s *spool) saveResult(st *Status, stdout, stderr []byte) error {
	if stdout != nil {
		if err := s.replace(st.ID, "stdout", stdout); err != nil {
			return err
		}
	}
	if len(stderr) > 0 {
		if err := s.replace(st.ID, "stderr", stderr); err != nil {
			return err
		}
	}
	return s.saveStatus(st)
}

// output reads back what saveResult stored; nil for what there is not.
func (s *spool) output(id string) (stdout, stderr []byte, err error) {
	read := func(name string) []byte {
		b, e := os.ReadFile(filepath.Join(s.dir, id, name))
		if e != nil && !errors.Is(e, os.ErrNotExist) && err == nil {
			err = e
		}
		return b
	}
	return read("stdout"), read("stderr"), err
}

// remove forgets a task. It goes from sight at once, whole.
func (s *spool) remove(id string) error {
	old := filepath.Join(s.dir, oldPrefix+id)
	err := os.Rename(filepath.Join(s.dir, id), old)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := syncDir(s.dir); err != nil {
		return err
	}
	return os.RemoveAll(old)
}

// load reads all tasks, in no order, and leaves what is none alone.
func (s *spool) load() ([]saved, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var all []saved
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case validID(e.Name()) && e.IsDir():
			all = append(all, s.loadTask(e.Name()))
		default:
			s.log.Warn("something in the spool is no task", "op", "env.OpenLocal", "name", e.Name())
		}
	}
	return all, nil
}

func (s *spool) loadTask(id string) saved {
	bad := func(err error) saved { return saved{id: id, task: Task{ID: id}, err: err} }
	text, err := os.ReadFile(filepath.Join(s.dir, id, "task.json"))
	if err != nil {
		return bad(err)
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return bad(fmt.Errorf("task.json: %w", err))
	}
	r.Task.Stdin = r.Stdin
	if r.Task, err = r.Task.prepare(); err != nil {
		return bad(fmt.Errorf("task.json: %w", err))
	}
	if r.Task.ID != id {
		return bad(fmt.Errorf("task.json is that of %q", r.Task.ID))
	}
	one := saved{id: id, task: r.Task, status: r.Task.queued(r.Queued)}
	text, err = os.ReadFile(filepath.Join(s.dir, id, "state.json"))
	if errors.Is(err, os.ErrNotExist) {
		return one
	}
	st := one.status
	if err == nil {
		err = json.Unmarshal(text, &st)
	}
	if err == nil && !st.State.stored() {
		err = fmt.Errorf("no task has the state %.80q", st.State)
	}
	if err != nil {
		one.err = fmt.Errorf("state.json: %w", err)
		return one
	}
	one.status = st
	return one
}

// replace writes one file of a task's folder.
func (s *spool) replace(id, name string, text []byte) error {
	dir := filepath.Join(s.dir, id)
	aside := filepath.Join(dir, newPrefix+name)
	if err := writeSynced(aside, text); err != nil {
		os.Remove(aside)
		return err
	}
	if err := os.Rename(aside, filepath.Join(dir, name)); err != nil {
		return err
	}
	return syncDir(dir)
}

// encode is json.Marshal, but leaves the input's own text as it is.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func writeSynced(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

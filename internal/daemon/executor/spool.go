package executor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hce/dc/internal/files"
)

// spool stores the tasks of a local pool: one folder for each task, named by its id.
//
//	task.json   the submitted task and its time; the folder appears together with it
//	state.json  the latest status; missing before the first attempt
//	stdout      the answer, and stderr, its tail; both are written before the final state
//
// Every file is synced and replaced atomically. Names with a leading dot are not tasks: the
// lock, and folders being created or removed. Calls for different ids may run concurrently.
// A broken or foreign entry is logged and does not prevent opening.
type spool struct {
	dir    string
	unlock func()
	log    *slog.Logger
}

const (
	lockName  = ".lock"
	newPrefix = ".new-"
	oldPrefix = ".old-"
)

// openSpool creates the folder, locks it and removes the remains of an interrupted create or
// remove. The error wraps ErrLocked and names the process if another one holds the lock.
func openSpool(dir string, log *slog.Logger) (*spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	unlock, err := files.TryLockPID(filepath.Join(dir, lockName))
	if errors.Is(err, files.ErrLocked) {
		return nil, fmt.Errorf("%w: %w", ErrLocked, err)
	}
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		unlock()
		return nil, err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), newPrefix) || strings.HasPrefix(e.Name(), oldPrefix) {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				log.Error("cannot remove a partial entry of the spool", "op", "executor.OpenLocal", "name", e.Name(), "error", err)
			}
		}
	}
	return &spool{dir: dir, unlock: unlock, log: log}, nil
}

// record is task.json: the task with its input as JSON instead of base64.
type record struct {
	Task
	Stdin  json.RawMessage
	Queued time.Time
}

// saved is a task in the spool. err says what cannot be read: the state, or also the task,
// which then has no stages.
type saved struct {
	id     string
	task   Task
	status Status
	err    error
}

// createTask makes t durable. After an error nothing of it remains.
func (s *spool) createTask(t *Task, queued time.Time) (err error) {
	aside := filepath.Join(s.dir, newPrefix+t.ID)
	if err := os.Mkdir(aside, 0o700); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(aside)
		}
	}()
	text, err := encodeJSON(record{Task: *t, Stdin: t.Stdin, Queued: queued})
	if err != nil {
		return err
	}
	if err := files.Write(filepath.Join(aside, "task.json"), text, 0o600); err != nil {
		return err
	}
	final := filepath.Join(s.dir, t.ID)
	if err := os.Rename(aside, final); err != nil {
		return err
	}
	if err := files.SyncFolder(s.dir); err != nil {
		os.RemoveAll(final)
		return err
	}
	return nil
}

// saveStatus replaces the state of a task.
func (s *spool) saveStatus(st *Status) error {
	text, err := encodeJSON(st)
	if err != nil {
		return err
	}
	return s.replaceFile(st.ID, "state.json", text)
}

// saveResult stores the output of a task and then its state.
func (s *spool) saveResult(st *Status, stdout, stderr []byte) error {
	if stdout != nil {
		if err := s.replaceFile(st.ID, "stdout", stdout); err != nil {
			return err
		}
	}
	if len(stderr) > 0 {
		if err := s.replaceFile(st.ID, "stderr", stderr); err != nil {
			return err
		}
	}
	return s.saveStatus(st)
}

// readOutput returns what saveResult stored; nil for a missing file.
func (s *spool) readOutput(id string) (stdout, stderr []byte, err error) {
	read := func(name string) []byte {
		b, e := os.ReadFile(filepath.Join(s.dir, id, name))
		if e != nil && !errors.Is(e, os.ErrNotExist) && err == nil {
			err = e
		}
		return b
	}
	return read("stdout"), read("stderr"), err
}

// removeTask deletes a task: its folder disappears atomically.
func (s *spool) removeTask(id string) error {
	old := filepath.Join(s.dir, oldPrefix+id)
	err := os.Rename(filepath.Join(s.dir, id), old)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := files.SyncFolder(s.dir); err != nil {
		return err
	}
	return os.RemoveAll(old)
}

// loadTasks reads all tasks, unordered, and ignores other entries.
func (s *spool) loadTasks() ([]saved, error) {
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
			s.log.Warn("ignored an entry of the spool that is not a task", "op", "executor.OpenLocal", "name", e.Name())
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
	if r.Task, err = r.Task.Prepare(); err != nil {
		return bad(fmt.Errorf("task.json: %w", err))
	}
	if r.Task.ID != id {
		return bad(fmt.Errorf("task.json has the id %q", r.Task.ID))
	}
	one := saved{id: id, task: r.Task, status: r.Task.queuedStatus(r.Queued)}
	text, err = os.ReadFile(filepath.Join(s.dir, id, "state.json"))
	if errors.Is(err, os.ErrNotExist) {
		return one
	}
	st := one.status
	if err == nil {
		err = json.Unmarshal(text, &st)
	}
	if err == nil && !st.State.isStorable() {
		err = fmt.Errorf("unknown state %.80q", st.State)
	}
	if err != nil {
		one.err = fmt.Errorf("state.json: %w", err)
		return one
	}
	one.status = st
	return one
}

// replaceFile writes one file of a task's folder.
func (s *spool) replaceFile(id, name string, text []byte) error {
	return files.Write(filepath.Join(s.dir, id, name), text, 0o600)
}

// encodeJSON is json.Marshal without escaping HTML in the input of a task.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

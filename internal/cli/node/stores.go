package node

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"time"

	"hce/dc/internal/childprocess"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/wire"
)

// Stores answers operations on the data of a node, without a daemon: it is a db-task that reads
// requests from a pipe. A daemon may work in the folder at the same time. Not safe for concurrent
// use.
type Stores struct {
	node  *Node
	in    io.WriteCloser
	out   *bufio.Reader
	talk  *bytes.Buffer // stderr; complete after ended is closed
	ended chan struct{}
	late  chan answered // of a request that was given up; nil: none
}

type answered struct {
	line []byte
	err  error
}

// Stores starts db-task. Close it after use.
func (n *Node) Stores() (*Stores, error) {
	cmd := exec.Command(n.programPath("db-task"), "-c", filepath.Join(n.IniDir(), "db-task.ini"))
	cmd.Env = n.programEnvironment()
	s := &Stores{node: n, talk: &bytes.Buffer{}, ended: make(chan struct{})}
	cmd.Stderr = s.talk
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start db-task: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start db-task: %w", err)
	}
	s.in, s.out = in, bufio.NewReaderSize(out, 1<<16)
	ended, err := childprocess.Start(cmd)
	if err != nil {
		return nil, fmt.Errorf("start db-task: %w", err)
	}
	go func() { // ends with db-task
		<-ended
		close(s.ended)
	}()
	return s, nil
}

// String names the stores in messages.
func (s *Stores) String() string { return "the data folder " + s.node.Dir }

// Ask runs an operation. When ctx is done, it returns at once; the operation may be done or not.
func (s *Stores) Ask(ctx context.Context, op wire.Op, request, answer any) error {
	line, err := service.EncodePair(op, request)
	if err != nil {
		return err
	}
	if s.late != nil {
		<-s.late // the answer to a request that was given up
		s.late = nil
	}
	done := make(chan answered, 1)
	go func() { // ends with the answer, or with db-task
		if _, err := s.in.Write(append(line, '\n')); err != nil {
			done <- answered{err: err}
			return
		}
		line, err := s.out.ReadBytes('\n')
		done <- answered{line, err}
	}()
	select {
	case <-ctx.Done():
		s.late = done
		return ctx.Err()
	case a := <-done:
		if a.err != nil {
			s.Close()
			return fmt.Errorf("%s: %w from db-task: %w: %s", op, service.ErrUnreachable, a.err, bytes.TrimSpace(s.talk.Bytes()))
		}
		return service.ReadPair(op, a.line, answer)
	}
}

// Close ends db-task. It may be called more than once.
func (s *Stores) Close() {
	_ = s.in.Close() // fails if it is closed
	select {
	case <-s.ended:
	case <-time.After(stopLimit): // it is killed with this process
	}
}

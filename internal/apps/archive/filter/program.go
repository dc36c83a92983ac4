package filter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/childprocess"
	"hce/dc/internal/config"
)

// Program lets a program decide. It is started once for each crawl, without a shell, reads a line with
// the JSON object of archive.Meta for each file, and answers each with the line true or false:
//
//	[Filter]
//	type = program
//	program = ./only-short-titles.py --most 80
//	timeout = 10
//
// The crawl fails, and stores nothing, if the program ends, takes longer than timeout (s) for a line, or
// answers something else.
type Program struct {
	name    string
	timeout time.Duration
	in      io.WriteCloser
	answers <-chan answer
	kill    context.CancelFunc
	ended   <-chan error
}

type answer struct {
	line string
	err  error
}

const longestAnswer = 64 // bytes

func readProgram(s *config.Section) (Filter, error) {
	name, args := s.Command("program", "")
	timeout := s.Duration("timeout", time.Second, 10*time.Second, 10*time.Millisecond, time.Hour)
	if name == "" {
		return nil, errors.New("the key program is missing")
	}
	p, err := StartProgram(timeout, name, args...)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// StartProgram starts the program of a filter.
func StartProgram(timeout time.Duration, name string, args ...string) (*Program, error) {
	ctx, kill := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		kill()
		return nil, err
	}
	out, write := io.Pipe()
	cmd.Stdout = write
	started, err := childprocess.Start(cmd)
	if err != nil {
		kill()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	ended := make(chan error, 1)
	go func() { // ends with the program
		err := <-started
		_ = write.Close()
		ended <- err
	}()
	answers := make(chan answer)
	go readAnswers(ctx, out, answers)
	return &Program{name, timeout, in, answers, kill, ended}, nil
}

// readAnswers ends with the program, or with ctx.
func readAnswers(ctx context.Context, out *io.PipeReader, answers chan<- answer) {
	defer out.Close()
	r := bufio.NewReaderSize(out, longestAnswer)
	for {
		line, err := r.ReadSlice('\n')
		select {
		case answers <- answer{strings.TrimSpace(string(line)), err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// Keep implements Filter.
func (p *Program) Keep(ctx context.Context, m archive.Meta) (bool, error) {
	line, err := json.Marshal(m)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { // ends a write to a program that does not read
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			p.kill()
		}
	})
	defer stop()
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return false, fmt.Errorf("write to %s: %w", p.name, err)
	}
	select {
	case <-ctx.Done():
		return false, fmt.Errorf("%s: no answer within %v: %w", p.name, p.timeout, ctx.Err())
	case a := <-p.answers:
		switch {
		case a.err == nil && a.line == "true":
			return true, nil
		case a.err == nil && a.line == "false":
			return false, nil
		case errors.Is(a.err, io.EOF):
			return false, fmt.Errorf("%s has ended", p.name)
		}
		return false, fmt.Errorf("%s answers %.64q instead of true or false", p.name, a.line)
	}
}

// Close ends the program: it closes its input, and kills it if it does not end.
func (p *Program) Close() error {
	_ = p.in.Close()
	timer := time.AfterFunc(p.timeout, p.kill)
	defer timer.Stop()
	defer p.kill()
	select {
	case <-p.ended: // its exit status says nothing that Keep has not said
	case <-time.After(p.timeout + 5*time.Second):
		return fmt.Errorf("%s does not end", p.name)
	}
	return nil
}

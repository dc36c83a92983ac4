package rig

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"hce/dc/internal/childprocess"
)

// program is a running daemon or node.
type program struct {
	name   string
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the program has ended
	endErr error         // the error of Wait; valid after ended is closed
	talk   string        // file with its stdout and stderr
}

// startProgram starts a program of the folder bin. What it writes goes to the file talk.
func startProgram(bin, name, talk string, env []string, args ...string) (*program, error) {
	p := &program{name: name, ended: make(chan struct{}), talk: talk}
	out, err := os.OpenFile(p.talk, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the program has its own copy
	p.cmd = exec.Command(filepath.Join(bin, name), args...)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env, out, out
	ended, err := childprocess.Start(p.cmd)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() { // ends with the program
		p.endErr = <-ended
		close(p.ended)
	}()
	return p, nil
}

// PID is the process id of the program, the root of all its processes.
func (p *program) PID() int { return p.cmd.Process.Pid }

// Ended is closed when the program has ended.
func (p *program) Ended() <-chan struct{} { return p.ended }

// Kill ends the program with SIGKILL, and so its children, and waits for it.
func (p *program) Kill() {
	_ = p.cmd.Process.Kill() // an error means that it has already ended
	<-p.ended
}

// stopProgram ends a running program: SIGTERM first, then SIGKILL to it and all its descendants.
func (p *program) stopProgram() {
	select {
	case <-p.ended:
		return
	default:
	}
	// An error means that the process has already ended.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		return
	case <-time.After(closeLimit):
	}
	family := descendantsOf(p.PID())
	_ = syscall.Kill(-p.PID(), syscall.SIGKILL)
	for _, pid := range family {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-p.ended
}

// endError is never nil: a program that ends by itself is an error even with code 0.
func (p *program) endError() error {
	if p.endErr != nil {
		return p.endErr
	}
	return errors.New("exit status 0")
}

// lastWords returns the end of the program's output, for error messages.
func (p *program) lastWords() string {
	text, err := os.ReadFile(p.talk)
	if err != nil || len(text) == 0 {
		return ""
	}
	const most = 2000
	return "\n" + p.name + " wrote: " + string(text[max(0, len(text)-most):])
}

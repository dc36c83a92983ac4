package executor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hce/dc/internal/childprocess"
)

// lastOutput is how long the pipes of an ended process are still read. Only a descendant
// outside of the process group can hold them open that long.
const lastOutput = time.Second

// stopped is the cause of a cancelled context: why work was stopped.
type stopped struct {
	state  State
	reason string
	grace  time.Duration // between SIGTERM and SIGKILL
}

func (s *stopped) Error() string { return s.reason }

// Stop returns a cause for the context of Run: the task ends with the state and the reason.
// grace is the time between SIGTERM and SIGKILL.
func Stop(state State, reason string, grace time.Duration) error {
	return &stopped{state, reason, grace}
}

// causeOf returns why ctx ended. The end of a caller's own context has the given grace.
func causeOf(ctx context.Context, grace time.Duration) *stopped {
	cause := context.Cause(ctx)
	var s *stopped
	if errors.As(cause, &s) {
		return s
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return &stopped{TimedOut, "deadline of the caller", grace}
	}
	return &stopped{Cancelled, "cancelled by the caller", grace}
}

// outcome is the result of one request to one process, or of a pipeline.
type outcome struct {
	state  State // Finished, Failed, or that of the cause that stopped it
	exit   int
	reason string
	stdout []byte
	stderr []byte
	childprocess.Usage
}

// process is a child in its own process group. Only one goroutine at a time may call request;
// the other methods are safe for concurrent use.
type process struct {
	cmd   *exec.Cmd
	pid   int
	key   string // see keyOf
	in    *os.File
	out   *os.File
	lines *bufio.Reader // of out
	errs  *drain
	meter *childprocess.Meter
	last  childprocess.Usage // after the previous request

	served    int       // requests so far; belongs to the goroutine that uses the process
	idleSince time.Time // guarded by warm.mu

	mu     sync.Mutex
	reaped bool          // the pid may belong to another process
	exited chan struct{} // closed when the process is reaped and its output is read
}

// startProcess starts the program of stage with three pipes.
func startProcess(s *starter, stage Stage, key string) (p *process, err error) {
	var files []*os.File
	defer func() {
		if err != nil {
			for _, f := range files {
				f.Close()
			}
		}
	}()
	pipe := func() (r, w *os.File) {
		if err == nil {
			if r, w, err = os.Pipe(); err == nil {
				files = append(files, r, w)
			}
		}
		return r, w
	}
	inR, inW := pipe()
	outR, outW := pipe()
	errR, errW := pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(stage.Program, stage.Args...)
	cmd.Env = append(os.Environ(), stage.Env...)
	cmd.Dir = stage.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := s.start(cmd); err != nil {
		return nil, err
	}
	inR.Close()
	outW.Close()
	errW.Close()
	p = &process{cmd: cmd, pid: cmd.Process.Pid, key: key, in: inW, out: outR,
		lines: bufio.NewReaderSize(outR, 64<<10), exited: make(chan struct{})}
	if p.errs, err = newDrain(errR); err == nil {
		p.meter, err = childprocess.NewMeter(p.pid)
	}
	if err != nil {
		unix.Kill(-p.pid, unix.SIGKILL)
		cmd.Wait()
		return nil, err
	}
	return p, nil
}

// reapGroup reaps the process and the rest of its group. Start it in a goroutine right after the
// process.
func (p *process) reapGroup() {
	// Wait without reaping first: while the leader is a zombie, its pid and so the id of the
	// group cannot be reused.
	for {
		err := unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			break
		}
	}
	p.mu.Lock()
	unix.Kill(-p.pid, unix.SIGKILL)
	p.cmd.Wait() // the status is read from ProcessState
	p.reaped = true
	p.mu.Unlock()

	p.in.Close()
	p.meter.Close()
	p.out.SetReadDeadline(time.Now().Add(lastOutput))
	p.errs.file.SetReadDeadline(time.Now().Add(lastOutput))
	<-p.errs.end
	close(p.exited)
}

// closePipes closes the output pipes. The process must have exited and must have no reader.
func (p *process) closePipes() {
	p.out.Close()
	p.errs.file.Close()
}

// signalGroup sends sig to the whole group unless the process was reaped.
func (p *process) signalGroup(sig unix.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		unix.Kill(-p.pid, sig)
	}
}

// terminate sends SIGTERM, after grace SIGKILL, and returns when the process has exited.
func (p *process) terminate(grace time.Duration) {
	p.signalGroup(unix.SIGTERM)
	p.awaitExit(grace)
}

// awaitExit waits for the exit of the process and kills the group after grace.
func (p *process) awaitExit(grace time.Duration) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		p.signalGroup(unix.SIGKILL)
		<-p.exited
	}
}

// isDirty reports whether an idle process wrote output without a request or closed its output,
// as it does when it ends.
func (p *process) isDirty() bool {
	events := int16(0)
	raw, err := p.out.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			unix.Poll(poll, 0) // a failure shows in the next request
			events = poll[0].Revents
		})
	}
	return err != nil || events != 0
}

var (
	errOutputSize = errors.New("answer is larger than the limit")
	errOutputJSON = errors.New("answer is not JSON")
	errOutputMore = errors.New("more than one line for one request")
	errUnread     = errors.New("answered before it read its request")
)

// sendRequest sends line, which ends in a newline, and waits for the answer. If ctx ends, the
// group is terminated with the grace of the cause; an answer within the grace is in the
// outcome. After any state other than Finished the process has exited.
func (p *process) sendRequest(ctx context.Context, line []byte, maxOutput int64, grace time.Duration) outcome {
	p.served++
	p.errs.reset()
	stop := context.AfterFunc(ctx, func() { p.terminate(causeOf(ctx, grace).grace) })

	// A separate goroutine writes: a program that answers before it has read everything would
	// otherwise deadlock with us.
	wrote := make(chan error, 1)
	go func() {
		_, err := p.in.Write(line)
		wrote <- err
	}()
	answer, err := p.readAnswer(maxOutput)
	switch {
	case err == nil:
		select {
		case err = <-wrote:
		default:
			p.in.SetWriteDeadline(time.Now().Add(grace))
			err = <-wrote
			p.in.SetWriteDeadline(time.Time{})
		}
		if err != nil {
			err = errUnread
			p.signalGroup(unix.SIGKILL)
		}
	case isProtocol(err):
		p.signalGroup(unix.SIGKILL)
	}
	interrupted := !stop()
	if err == nil && !interrupted {
		o := outcome{state: Finished, stdout: answer, stderr: p.errs.copyTail()}
		if now, err := p.meter.Read(); err == nil {
			o.Usage = childprocess.Usage{RSS: now.RSS, CPU: max(0, now.CPU-p.last.CPU)}
			p.last = now
		}
		return o
	}

	// The process cannot be used again. The end of its output usually means that it is
	// exiting, so wait for its own exit status.
	if interrupted {
		<-p.exited
	} else {
		p.awaitExit(grace)
	}
	o := outcome{state: Failed, stderr: p.errs.copyTail(), Usage: p.finalUsage()}
	o.exit, o.reason = p.exitStatus()
	switch {
	case interrupted:
		cause := causeOf(ctx, grace)
		o.state, o.reason = cause.state, cause.reason
		if err == nil {
			o.stdout = answer
		}
	case isProtocol(err):
		o.reason = err.Error()
	case len(answer) > 0:
		o.reason += " in the middle of its answer"
	default:
		o.reason += " instead of answering"
	}
	return o
}

// isProtocol reports whether err is a violation of the rules of Stage. The process may still
// be running.
func isProtocol(err error) bool {
	return err == errOutputSize || err == errOutputJSON || err == errOutputMore || err == errUnread
}

// readAnswer reads one line of at most limit bytes and checks that it is JSON and the only
// output. With an error it returns the part of the line that was read.
func (p *process) readAnswer(limit int64) ([]byte, error) {
	var line []byte
	for {
		part, err := p.lines.ReadSlice('\n')
		if int64(len(line)+len(part)) > limit+1 {
			return nil, errOutputSize
		}
		line = append(line, part...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil {
			return line, err
		}
		break
	}
	line = bytes.TrimSpace(line)
	if !json.Valid(line) {
		return line, errOutputJSON
	}
	if p.lines.Buffered() > 0 {
		return line, errOutputMore
	}
	return line, nil
}

// exitStatus returns how an exited process ended, as a number and as text.
func (p *process) exitStatus() (int, string) {
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return 128 + int(status.Signal()), fmt.Sprintf("killed by signal %d (%v)", status.Signal(), status.Signal())
	}
	code := p.cmd.ProcessState.ExitCode()
	return code, fmt.Sprintf("exited with status %d", code)
}

// finalUsage returns the usage of an exited process since the last request.
func (p *process) finalUsage() childprocess.Usage {
	state := p.cmd.ProcessState
	u := childprocess.Usage{CPU: max(0, state.UserTime()+state.SystemTime()-p.last.CPU)}
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		u.RSS = r.Maxrss << 10 // from KiB
	}
	return u
}

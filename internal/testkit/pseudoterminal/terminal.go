package pseudoterminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"hce/dc/internal/childprocess"
)

// Terminal is a running program and its screen.
type Terminal struct {
	Ended <-chan error // receives how the program ended, once, when its whole output is on the screen

	cmd    *exec.Cmd
	master *os.File

	mu      sync.Mutex // guards the rest
	screen  *Screen
	changed chan struct{} // closed at the next change
}

// Start starts cmd on a terminal of that size. before is shown above its output. The program never
// outlives this process. Close the terminal after use.
func Start(cmd *exec.Cmd, width, height int, before string) (*Terminal, error) {
	master, slave, err := openTerminal(width, height)
	if err != nil {
		return nil, fmt.Errorf("open a pseudo terminal: %w", err)
	}
	defer slave.Close() // the program has its own copy
	t := &Terminal{cmd: cmd, master: master, screen: NewScreen(width, height), changed: make(chan struct{})}
	_, _ = t.screen.Write([]byte(before)) // never fails
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	ended, err := childprocess.Start(cmd)
	if err != nil {
		master.Close()
		return nil, err
	}
	shown, result := make(chan struct{}), make(chan error, 1)
	go t.readOutput(shown)
	go func() { // ends with the program
		err := <-ended
		<-shown
		result <- err
		close(result)
	}()
	t.Ended = result
	return t, nil
}

// openTerminal returns both ends of a new terminal.
func openTerminal(width, height int) (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(master.Fd())
	err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)})
	}
	var n int
	if err == nil {
		n, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
	}
	if err == nil {
		slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		master.Close()
		return nil, nil, err
	}
	return master, slave, nil
}

// readOutput shows the output until the program has ended, and with it all who have the terminal open.
func (t *Terminal) readOutput(shown chan<- struct{}) {
	defer close(shown)
	buffer := make([]byte, 1<<14)
	for {
		n, err := t.master.Read(buffer)
		t.mu.Lock()
		_, _ = t.screen.Write(buffer[:n]) // never fails
		close(t.changed)
		t.changed = make(chan struct{})
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Screen returns a copy of the screen.
func (t *Terminal) Screen() Screen {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.copyScreen()
}

// Await waits until the screen is as wanted. The error shows the screen.
func (t *Terminal) Await(ctx context.Context, wanted func(Screen) bool) error {
	for {
		t.mu.Lock()
		screen, changed := t.screen.copyScreen(), t.changed
		t.mu.Unlock()
		if wanted(screen) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w; the screen shows\n%s", ctx.Err(), screen.Text())
		}
	}
}

// Type sends keys to the program.
func (t *Terminal) Type(keys string) error {
	_, err := t.master.WriteString(keys)
	return err
}

// Signal sends a signal to the program.
func (t *Terminal) Signal(s os.Signal) error { return t.cmd.Process.Signal(s) }

// ExitCode is the exit status of a program that has ended, -1 after a signal.
func (t *Terminal) ExitCode() int { return t.cmd.ProcessState.ExitCode() }

// Raw reports whether the program has switched off echo and lines.
func (t *Terminal) Raw() (bool, error) {
	settings, err := unix.IoctlGetTermios(int(t.master.Fd()), unix.TCGETS)
	if err != nil {
		return false, fmt.Errorf("read the settings of the terminal: %w", err)
	}
	return settings.Lflag&(unix.ECHO|unix.ICANON) == 0, nil
}

// Close kills the program if it still runs, and releases the terminal.
func (t *Terminal) Close() error {
	err := t.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	for range t.Ended { // until its end
	}
	return errors.Join(err, t.master.Close())
}

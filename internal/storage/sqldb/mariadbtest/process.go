package mariadbtest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// process is a running mariadbd.
type process struct {
	pid  int
	done chan struct{} // closed when it has ended and was waited for
}

// launch starts a program that dies with this process. Linux ends a child with
// the thread that started it, so one goroutine keeps that thread and waits.
func launch(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = child()
	started := make(chan error, 1)
	p := &process{done: make(chan struct{})}
	go func() {
		runtime.LockOSThread() // ends with the goroutine, after the child
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			cmd.Wait() // how it ended is in its log
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// signal does nothing to a process that was waited for: its pid may be another's.
func (p *process) signal(s syscall.Signal) {
	if !p.ended() {
		syscall.Kill(p.pid, s)
	}
}

// still tells whether every thread of the process stands: a signal is sent at
// once, but each thread obeys when it next runs.
func (p *process) still() bool {
	stats, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(p.pid), "task", "*", "stat"))
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err == nil && !strings.Contains(string(stat), ") T ") && !p.ended() {
			return false
		}
	}
	return true
}

func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// keeper is a shell that removes a server's folder when this process is gone:
// then nobody holds the other end of its standard input.
type keeper struct {
	cmd  *exec.Cmd
	hold io.WriteCloser
}

const keeperScript = `trap '' INT TERM HUP; cat >/dev/null; kill -9 "$(cat "$1/pid" 2>/dev/null)" 2>/dev/null
for i in 1 2 3 4 5 6 7 8 9 10; do rm -rf "$1" 2>/dev/null && exit; sleep 0.1; done`

func keep(folder string) (*keeper, error) {
	k := &keeper{cmd: exec.Command("/bin/sh", "-c", keeperScript, "sh", folder)}
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if k.hold, err = k.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := k.cmd.Start(); err != nil {
		return nil, err
	}
	return k, nil
}

// finish lets the keeper do its work now.
func (k *keeper) finish() {
	k.hold.Close()
	k.cmd.Wait()
}

// program finds a program of MariaDB; servers are not in everyone's PATH.
func program(names ...string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
		for _, folder := range []string{"/usr/sbin", "/usr/libexec", "/usr/local/sbin"} {
			if path, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("the program %s is missing: run scripts/setup.sh test", names[0])
}

// install makes the system tables of a new server: half a second.
func install(folder string) error {
	path, err := program("mariadb-install-db", "mysql_install_db")
	if err != nil {
		return err
	}
	args := append([]string{"--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve", "--tmpdir=" + folder}, common(folder)...)
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil {
		return errors.Join(err, errors.New(string(out)))
	}
	return nil
}

// common are the options that the files of a server are made and used with.
func common(folder string) []string {
	options := []string{
		"--datadir=" + filepath.Join(folder, "data"),
		"--innodb-log-file-size=16M",
		"--innodb-use-native-aio=0", // containers often forbid io_uring
	}
	if os.Getuid() == 0 {
		options = append(options, "--user=root")
	}
	return options
}
